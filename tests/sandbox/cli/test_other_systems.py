"""Windows, where it is said that no sandbox runs, and macOS, whose differences are faked."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rdss_sandbox.installed_extensions import list_ports
from rdss_sandbox.process import SandboxNotStartedError, sandbox_process

# click itself asks for Windows when it is imported.
_WINDOWS = """
import click, sys, tempfile, subprocess
sys.platform = "win32"
for name in ("fcntl", "resource", "termios", "pwd", "grp", "uvloop"):
    sys.modules[name] = None
from sandbox.cli import main
sys.exit(main(["up"]))
"""

# No /proc, no fdatasync, no scheduler of cores, and a C library without malloc_trim.
_MACOS = """
import ctypes, io, os, pathlib

def without_proc(function):
    def asked(path, *more, **options):
        if str(path).startswith("/proc"):
            raise FileNotFoundError(2, "No such file or directory", str(path))
        return function(path, *more, **options)
    return asked

io.open, os.readlink, os.listdir, os.stat = map(without_proc, (io.open, os.readlink, os.listdir, os.stat))

def without_processes(self, pattern, glob=pathlib.Path.glob):
    return iter(()) if str(self).startswith("/proc") else glob(self, pattern)

pathlib.Path.glob = without_processes
del os.fdatasync, os.sched_getaffinity

class Library:
    def __init__(self, *_):
        pass

ctypes.CDLL = Library
"""


def test_on_windows_one_line_says_where_it_runs() -> None:
    """Not an ImportError of fcntl."""
    ran = subprocess.run(
        [sys.executable, "-c", _WINDOWS], capture_output=True, text=True, check=False, timeout=60
    )
    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (3, "", 1)
    assert ran.stderr.startswith("sandbox: the sandbox does not run on Windows itself; it runs in WSL")


def test_the_fixtures_say_so_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is started."""
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(SandboxNotStartedError, match="WSL"), sandbox_process():
        pass


@pytest.mark.slow
def test_on_macos_a_sandbox_starts_keeps_and_stops(tmp_path: Path) -> None:
    """What Linux has and macOS has not is asked for nowhere, or with an answer of its own."""
    fake = tmp_path / "fake"
    fake.mkdir()
    (fake / "sitecustomize.py").write_text(_MACOS)
    environment = {**os.environ, "PYTHONPATH": str(fake), "SANDBOX_AMQP": "none"}

    def sandbox(*words: str, given: str = "") -> subprocess.CompletedProcess[str]:
        ran = subprocess.run(
            [sys.executable, "-m", "sandbox", *words],
            cwd=tmp_path,
            env=environment,
            input=given,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert ran.returncode == 0, ran.stderr
        return ran

    ports = [word for name in ("aws", "control", *dict(list_ports())) for word in (f"--{name}-port", "0")]
    for count in (1, 2):
        sandbox("up", "--detach", "--fsync", *ports)
        sandbox("send", "-", given=sandbox("message", "sample").stdout)
        sandbox("wait", "--for", f"stream input has exactly {count} messages")
        sandbox("doctor", "sandbox")
        sandbox("down")


def test_doctor_finds_what_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who holds a port, and a sandbox that was killed; what is not asked for is told and stops nothing."""
    import socket

    monkeypatch.chdir(tmp_path)

    def doctor(*parts: str, **variables: str) -> tuple[int, list[dict[str, str]], str]:
        ran = subprocess.run(
            [sys.executable, "-m", "sandbox", "doctor", *parts, "--json"],
            env={**os.environ, "SANDBOX_CONTROL_PORT": "0", "SANDBOX_AWS_PORT": "0", **variables},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        return ran.returncode, json.loads(ran.stdout), ran.stderr

    code, found, _ = doctor()
    assert code == 0
    assert {"python", "port", "disk", "rabbitmq", "java", "spark", "textual"} <= {
        each["about"] for each in found
    }

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, found, said = doctor("sandbox", SANDBOX_AWS_PORT=str(port))
    holder = f"port {port} for aws is held by process {os.getpid()}"
    assert code == 3
    assert said.startswith(f"sandbox: missing for sandbox: {holder}")
    assert [each["remedy"] for each in found if each["found"].startswith(holder)] == [
        "--aws-port 0 picks a free one"
    ]

    code, found, _ = doctor("amqp", SANDBOX_AMQP_PORT="0")
    assert code == 0
    (broker,) = [each["found"] for each in found if each["about"] == "rabbitmq"]
    assert broker.startswith("the sandbox's own broker answers")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        asked = {"SANDBOX_AMQP_PORT": str(taken.getsockname()[1]), "SANDBOX_AMQP": "none"}
        code, found, _ = doctor("amqp", **asked)
    said = [each["found"] for each in found]
    assert (code, said) == (0, ["nothing answers on the AMQP port: the setting amqp is none"])

    (tmp_path / ".sandbox").mkdir()
    (tmp_path / ".sandbox" / "running.json").write_text(
        json.dumps(
            {"aws": "", "control": "", "amqp": None, "pid": 2**22 - 1, "profile": "embedded", "seed": 1}
            | {"region": "us-east-1", "data_dir": "d"}
        )
    )
    code, found, _ = doctor("sandbox")
    assert (code, [each["about"] for each in found if "without sandbox down" in each["found"]]) == (
        0,
        ["stale"],
    )
