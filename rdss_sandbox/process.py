"""A sandbox in a separate process, for the time of a ``with`` block."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

import msgspec

from rdss_sandbox.installed_extensions import list_ports
from rdss_sandbox.machine.platforms import explain_unsupported
from rdss_sandbox.machine.watchdog import start_directory_watchdog, stopping, watchdog
from rdss_sandbox.shapes.status import Addresses

_PACKAGES: Final = Path(__file__).resolve().parents[1]
_STOP_SECONDS: Final = 10.0
_ENVIRONMENT_CODE: Final = 3
_UP: Final = (
    *("up", "--json", "--data-dir", ":memory:"),
    *(
        word
        for port in ("aws", "control", "amqp", "amqp-management", *(name for name, _ in list_ports()))
        for word in (f"--{port}-port", "0")
    ),
)


class RunningSandbox(Addresses, frozen=True, kw_only=True):
    """A running sandbox: the URLs of its ports, its seed, the AWS region of its streams, its process id.

    ``token`` is what every port asks for, None where none does. ``amqp`` is None where nothing answers;
    ``ports`` has the URLs of the extensions' ports by name.
    """

    pid: int


class SandboxNotStartedError(RuntimeError):
    """The sandbox ended before it was ready, with exit code ``code``; the message is what it said last."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


@contextmanager
def sandbox_process(*options: str) -> Iterator[RunningSandbox]:
    """Run ``sandbox up`` in memory and on free ports, with further options; yield it when it is ready.

    It ignores the caller's SANDBOX_ variables and the modules of the caller's directory. It ends with the
    context, or with this process. Raises ``SandboxNotStartedError``.
    """
    if unsupported := explain_unsupported():
        raise SandboxNotStartedError(unsupported, _ENVIRONMENT_CODE)
    with tempfile.TemporaryDirectory(prefix="rdss-sandbox-") as directory, tempfile.TemporaryFile() as errors:
        # -P keeps the caller's directory off the path: a package there may have the name of one of ours.
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "sandbox", *_UP, "--amqp", "embedded", *options],
            cwd=directory,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            # Ctrl-C is for the caller, who may still need the sandbox while it tidies up.
            start_new_session=True,
        )
        tidying = start_directory_watchdog(directory, process.pid)
        with process, watchdog(process.pid), stopping(tidying):
            try:
                yield _wait_until_ready(process, errors)
            finally:
                process.terminate()
                try:
                    process.wait(_STOP_SECONDS)
                except subprocess.TimeoutExpired:
                    process.kill()


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SANDBOX_")}
    return {**kept, "PYTHONPATH": str(_PACKAGES)}


def _wait_until_ready(process: subprocess.Popen[bytes], errors: IO[bytes]) -> RunningSandbox:
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        errors.seek(0)
        last = errors.read()[-2000:].decode(errors="replace").strip()
        raise SandboxNotStartedError(last or "the sandbox stopped before it was ready", process.wait())
    return msgspec.json.decode(line, type=RunningSandbox)
