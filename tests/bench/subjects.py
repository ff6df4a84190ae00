"""The emulators that are compared: how each is installed, apart from us and from each other, and started."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from emulator.clock import Clock, stopwatch
from tests.bench.load import BadAnswerError, Connection
from tests.bench.rows import US
from tests.real_clients.install import node_packages, python_environment

HOME = Path(__file__).resolve().parents[2] / ".bench-subjects"
_READY_SECONDS = 60


class Start(NamedTuple):
    """What starts a subject, with what in its environment, and where if not in an empty folder."""

    command: list[str]
    environment: Mapping[str, str] = MappingProxyType({})
    folder: Path | None = None


class Subject(NamedTuple):
    """``start`` installs what is missing and says how to start on a port; None where it cannot be had."""

    name: str
    start: Callable[[int], Start | None]


class Running(NamedTuple):
    """A subject that answers: ``ready_seconds`` after its process was started."""

    port: int
    pid: int
    ready_seconds: float


def _ours(port: int) -> Start:
    command = [
        sys.executable,
        "-m",
        "sandbox",
        "up",
        "--json",
        "--aws-port",
        str(port),
        "--control-port",
        "0",
    ]
    return Start([*command, "--amqp", "none", "--topology", "none", "--data-dir", "data"])


def _nothing(port: int) -> Start:
    return Start([sys.executable, "-m", "tests.bench.nothing", str(port)], {"PYTHONPATH": str(HOME.parent)})


def _ministack(port: int) -> Start:
    command = python_environment("ministack", "ministack==1.5.33", home=HOME) / "ministack"
    return Start([str(command)], {"GATEWAY_PORT": str(port), "BIND_HOST": "127.0.0.1"})


def _moto(port: int) -> Start:
    command = python_environment("moto", "moto[server]==5.2.5", home=HOME) / "moto_server"
    return Start([str(command), "-H", "127.0.0.1", "-p", str(port)])


def _kinesalite(port: int) -> Start:
    modules = node_packages("kinesalite", "kinesalite@3.3.3", home=HOME)
    command = ["node", str(modules / "kinesalite/cli.js"), "--port", str(port), "--createStreamMs", "0"]
    return Start([*command, "--deleteStreamMs", "0", "--shardLimit", "100"])


def _kinesis_mock(port: int) -> Start:
    modules = node_packages("kinesis-mock", "kinesis-local@0.6.2", home=HOME)
    durations = ("CREATE_STREAM_DURATION", "DELETE_STREAM_DURATION", "SPLIT_SHARD_DURATION")
    environment = {
        "KINESIS_MOCK_PLAIN_PORT": str(port),
        "KINESIS_MOCK_TLS_PORT": str(free_port()),
        "LOG_LEVEL": "ERROR",
        **dict.fromkeys(durations, "0ms"),
    }
    return Start(["node", "main.js"], environment, modules / "kinesis-local")


def _localstack(port: int) -> Start | None:
    command = shutil.which("localstack")
    environment = {"GATEWAY_LISTEN": f"127.0.0.1:{port}", "DISABLE_EVENTS": "1", "SERVICES": "kinesis"}
    return Start([command, "start", "--host"], environment) if command else None


SUBJECTS = (
    Subject(US, _ours),
    Subject("nothing", _nothing),
    Subject("ministack", _ministack),
    Subject("kinesalite", _kinesalite),
    Subject("kinesis-mock", _kinesis_mock),
    Subject("moto", _moto),
    Subject("LocalStack", _localstack),
)


@contextmanager
def running(subject: Subject) -> Iterator[Running | None]:
    """The subject in its own process and folder while the context lasts; None where it cannot run."""
    port = free_port()
    start = subject.start(port)
    if start is None:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        began = stopwatch()
        process = subprocess.Popen(
            start.command,
            cwd=start.folder or folder,
            env=dict(os.environ) | dict(start.environment),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            _wait_until_ready(process, port)
            yield Running(port, process.pid, stopwatch() - began)
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(10)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def resident_megabytes(pid: int) -> float:
    """What a process and its descendants hold in memory."""
    listing = subprocess.run(
        ["ps", "-A", "-o", "pid=,ppid=,rss="], capture_output=True, text=True, check=True
    )
    rows = [tuple(map(int, line.split())) for line in listing.stdout.splitlines()]
    family, size = {pid}, -1
    while len(family) != size:
        size = len(family)
        family |= {child for child, parent, _ in rows if parent in family}
    return sum(rss for member, _, rss in rows if member in family) / 1024


def processor_seconds(pid: int) -> float:
    """The processor time that a process has had since its start."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _wait_until_ready(process: subprocess.Popen[bytes], port: int) -> None:
    clock, began = Clock(), stopwatch()
    while stopwatch() - began < _READY_SECONDS:
        if process.poll() is not None:
            raise BadAnswerError(f"it ended with exit code {process.returncode} instead of starting")
        try:
            with Connection(port) as connection:
                connection.call("ListStreams", {})
                return
        except (OSError, BadAnswerError):
            clock.wait(0.01)
    raise BadAnswerError(f"it did not answer within {_READY_SECONDS} seconds")
