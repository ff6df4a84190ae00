"""The localstack profile: LocalStack 4.14 on this machine without Docker, and the sandbox in front of it.

LocalStack has its own Python environment under the state directory, which is
created once, and it writes nothing outside of that directory.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from emulator.clock import Clock
from emulator.settings.settings import STATE_DIRECTORY, Settings
from sandbox.profiles.docker_engine import free_port
from sandbox.profiles.in_process import CannotStartError, serve
from sandbox.profiles.running import Running

VERSION: Final = "4.14.0"
ENGINE: Final = "kinesis-local@0.5.2"
LOG_NAME: Final = "localstack.log"
# Newer releases of cbor2 and pyopenssl break its start. Its HTTP server needs service-identity without
# declaring it.
PACKAGES: Final = (f"localstack-core[runtime]=={VERSION}", "cbor2<6", "pyopenssl<26", "service-identity")
# The package declares older versions too, but they cannot parse its Kinesis provider.
PYTHON: Final = ">=3.13"
_ROOT: Final = "files"
# The time to create, change or delete a stream; LocalStack's default is half a second.
_CHANGE_MILLIS: Final = "20"
# Without S3, which the sandbox answers itself: LocalStack would forget what users put.
_SERVICES: Final = "kinesis,dynamodb,sqs,sns,sts,ssm"
_READY_SECONDS: Final = 120.0
_LOOK_SECONDS: Final = 0.25
_STOP_SECONDS: Final = 15.0
_SIGNED: Final = (
    "AWS4-HMAC-SHA256 Credential=000000000000/20260101/us-east-1/kinesis/aws4_request, "
    "SignedHeaders=host, Signature=0"
)


def run(settings: Settings, ready: Callable[[Running], None]) -> None:
    """Start a LocalStack, serve in front of it until SIGINT or SIGTERM, and stop it.

    Raises CannotStartError.
    """
    home = Path(STATE_DIRECTORY, "localstack").resolve()
    install(home, _say)
    with started(home, os.environ, _say) as url:
        serve(replace(settings, upstream_aws=url, upstream_owned=True), ready)


def install(home: Path, say: Callable[[str], None]) -> None:
    """Install LocalStack and its Kinesis engine under ``home``, unless they are installed.

    Raises CannotStartError.
    """
    home.mkdir(parents=True, exist_ok=True)
    done = home / f"installed-{VERSION}"
    if done.exists():
        return
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        raise CannotStartError(
            "LocalStack's Kinesis runs on Node.js: install nodejs and npm, or use sandbox up"
        )
    bootstrap = home / "bootstrap"
    _run([sys.executable, "-m", "venv", "--clear", str(bootstrap)], home)
    python = str(bootstrap / "bin" / "python")
    # pip's resolver needs ten minutes for these packages, uv seconds. uv also finds or downloads the Python.
    _run([python, "-m", "pip", "install", "--disable-pip-version-check", "--quiet", "uv"], home)
    uv = [python, "-m", "uv", "--quiet"]
    environment = home / "environment"
    _run([*uv, "venv", "--clear", "--python", PYTHON, str(environment)], home)
    _run([*uv, "pip", "install", "--python", str(environment / "bin" / "python"), *PACKAGES], home)
    say("installing its Kinesis engine")
    engine = home / _ROOT / "usr/lib/localstack/kinesis-local" / ENGINE.rpartition("@")[2]
    engine.mkdir(parents=True, exist_ok=True)
    _run([npm, "install", "--silent", "--no-fund", "--no-audit", "--prefix", str(engine), ENGINE], home)
    done.touch()


@contextmanager
def started(home: Path, environment: Mapping[str, str], say: Callable[[str], None]) -> Iterator[str]:
    """Run LocalStack for the time of the context and yield its URL. Raises CannotStartError."""
    port = free_port(0)
    url = f"http://127.0.0.1:{port}"
    with (home / LOG_NAME).open("wb") as log:
        process = subprocess.Popen(
            [str(home / "environment" / "bin" / "python"), "-m", "localstack.runtime.main"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=home,
            env=_variables(home, environment, port),
            start_new_session=True,
        )
    try:
        say(f"waiting for LocalStack {VERSION} at {url}")
        _wait_until_ready(process, url, home / LOG_NAME)
        yield url
    finally:
        _stop(process)


def _variables(home: Path, environment: Mapping[str, str], port: int) -> dict[str, str]:
    """LocalStack's environment: ours without AWS and sandbox variables, with all paths under ``home``."""
    ours = {name: value for name, value in environment.items() if not name.startswith(("AWS_", "SANDBOX_"))}
    places = {"FILESYSTEM_ROOT": _ROOT, "TMPDIR": "tmp", "HOME": "home"}
    for place in places.values():
        (home / place).mkdir(exist_ok=True)
    return {
        **ours,
        **{name: str(home / place) for name, place in places.items()},
        "GATEWAY_LISTEN": f"127.0.0.1:{port}",
        "LOCALSTACK_HOST": f"127.0.0.1:{port}",
        "SERVICES": _SERVICES,
        "KINESIS_MOCK_PROVIDER_ENGINE": "node",
        "KINESIS_LATENCY": _CHANGE_MILLIS,
        "DISABLE_EVENTS": "1",
        "DNS_ADDRESS": "0",
        # If it took this machine for its own container, it would write to the container's paths.
        "OVERRIDE_IN_DOCKER": "0",
        "SKIP_SSL_CERT_DOWNLOAD": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def _wait_until_ready(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    """Wait until Kinesis itself answers; the gateway answers long before."""
    clock = Clock()
    deadline = clock.elapsed() + _READY_SECONDS
    while not _answers(url):
        if process.poll() is not None or clock.elapsed() > deadline:
            lines = log.read_text(errors="replace").strip().splitlines()
            raise CannotStartError(
                f"LocalStack did not start: {lines[-1] if lines else 'it said nothing'}; see {log}"
            )
        clock.wait(_LOOK_SECONDS)


def _answers(url: str) -> bool:
    import httpx

    headers = {
        "authorization": _SIGNED,
        "content-type": "application/x-amz-json-1.1",
        "x-amz-target": "Kinesis_20131202.ListStreams",
    }
    try:
        return httpx.post(url, content=b"{}", headers=headers, timeout=60).status_code == httpx.codes.OK
    except httpx.HTTPError:
        return False


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End LocalStack and its Kinesis engine, which is in the same process group."""
    clock = Clock()
    for number, seconds in ((signal.SIGTERM, _STOP_SECONDS), (signal.SIGKILL, 1.0)):
        deadline = clock.elapsed() + seconds
        while _signal(process.pid, number) and clock.elapsed() < deadline:
            process.poll()
            clock.wait(_LOOK_SECONDS)
    process.wait()


def _signal(group: int, number: signal.Signals) -> bool:
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return False
    return True


def _run(command: Sequence[str], home: Path) -> None:
    within = {"UV_CACHE_DIR": str(home / "cache"), "UV_PYTHON_INSTALL_DIR": str(home / "python")}
    ran = subprocess.run(
        command,
        cwd=home,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
        env={**os.environ, **within, "npm_config_cache": str(home / "cache" / "npm")},
    )
    if ran.returncode != 0:
        lines = ran.stdout.decode(errors="replace").strip().splitlines()
        raise CannotStartError(
            f"LocalStack cannot be installed: {lines[-1] if lines else command[-1]}; "
            "it needs Python 3.13 or newer on PATH, and the package registries"
        )


def _say(line: str) -> None:
    sys.stderr.write(f"sandbox: {line}\n")
    sys.stderr.flush()
