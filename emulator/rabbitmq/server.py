"""A private RabbitMQ: the real server, found on PATH, with ports, files and node name of its own."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from emulator.clock import Clock
from emulator.machine import private_files
from rdss_sandbox.watchdog import start_watchdog, stop_watchdog

START_SECONDS: Final = 60.0
_STOP_SECONDS: Final = 15.0
_POLL_SECONDS: Final = 0.05
_AMQP_GREETING: Final = b"AMQP\x00\x00\x09\x01"
_MORE_TRIES: Final = 3
_TAKEN: Final = "eaddrinuse"
_DISTRIBUTION_TAKEN: Final = "dist_port_already_used"
_ADMINISTRATORS: Final = ("/usr/sbin", "/usr/local/sbin", "/opt/homebrew/sbin", "/sbin")
"""Where distributions put servers, which a user's PATH may lack."""
_CONTAINER: Final = "127.0.0.1:5673"
HOW_TO_GET_ONE: Final = (
    "Debian, Ubuntu: sudo apt-get install rabbitmq-server, then: sandbox up --amqp-port 5673",
    "macOS: brew install rabbitmq, then: sandbox up",
    (
        f"container: docker run --detach --publish {_CONTAINER}:5672 rabbitmq:4-management, "
        f"then: sandbox up --upstream-amqp amqp://guest:guest@{_CONTAINER}/"
    ),
)
"""The ways to have RabbitMQ behind the sandbox. Debian's package starts a server of its own on 5672."""
HOW_TO_INSTALL: Final = (
    "sudo apt-get install rabbitmq-server (Debian, Ubuntu), or brew install rabbitmq (macOS)"
)


class BrokerFailedError(RuntimeError):
    """The server did not start; the message holds what it said."""


class _PortTakenError(BrokerFailedError):
    """A port that was free a moment ago, and that nobody asked for by its number, is somebody else's now."""


def find_server(environment: Mapping[str, str]) -> Path | None:
    """The ``rabbitmq-server`` to run, None when there is none, or no ``epmd`` and ``erl`` to run it with.

    Distributions put a wrapper on PATH that insists on root or a system user
    and on system directories: the script beside it has no such wishes.
    """
    path = _path(environment)
    found = shutil.which("rabbitmq-server", path=path)
    if not found or not shutil.which("epmd", path=path) or not shutil.which("erl", path=path):
        return None
    script = Path(found).resolve()
    return script if script.name == "rabbitmq-server" else script.with_name("rabbitmq-server")


def why_none(environment: Mapping[str, str]) -> str:
    """What ``find_server`` did not find."""
    if shutil.which("rabbitmq-server", path=_path(environment)):
        return "rabbitmq-server is installed, but no Erlang to run it (erl and epmd on PATH)"
    return "no rabbitmq-server was found"


def _path(environment: Mapping[str, str]) -> str:
    return os.pathsep.join((environment.get("PATH", ""), *_ADMINISTRATORS))


@dataclass(frozen=True, slots=True)
class Broker:
    """A running server. ``url`` is for AMQP clients.

    It ends with this process, however that ends: the ``holder`` of its leash sees to it.
    """

    url: str
    port: int
    process: subprocess.Popen[bytes]
    mapper: subprocess.Popen[bytes]
    holder: subprocess.Popen[bytes]

    @property
    def pid(self) -> int:
        return self.process.pid

    def stop(self) -> None:
        """End the server, then its port mapper; what was persistent is kept in its directory."""
        stop_watchdog(self.holder)
        for process in (self.process, self.mapper):
            # A paused process does not see that it shall end.
            _tell(process, signal.SIGCONT)
            _tell(process, signal.SIGTERM)
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                _tell(process, signal.SIGKILL)
                process.wait()


def start_broker(
    server: Path,
    directory: Path,
    environment: Mapping[str, str],
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    name: str = "sandbox",
) -> Broker:
    """Start a server that keeps its files in ``directory`` and return once it answers.

    Port 0 is any free one. A broker is known by its node name and directory:
    start it with the same ones to find its messages again.
    Raises BrokerFailedError.
    """
    private_files.make_directory(directory)
    for _ in range(_MORE_TRIES):
        try:
            return _started(server, directory, environment, host, port=port, name=name)
        except _PortTakenError:
            continue
    return _started(server, directory, environment, host, port=port, name=name)


def _started(
    server: Path, directory: Path, environment: Mapping[str, str], host: str, *, port: int, name: str
) -> Broker:
    anywhere, port = port == 0, port or _free_port()
    mapper_port, cluster_port = _free_port(), _free_port()
    settings = _environment(environment, directory, f"{name}@localhost", mapper_port, cluster_port)
    (directory / "rabbitmq.conf").write_text(_configuration(host, port), encoding="utf-8")
    (directory / "enabled_plugins").write_text("[].\n", encoding="utf-8")
    mapper = _run(
        ["epmd", "-address", "127.0.0.1", "-port", str(mapper_port)], settings, directory / "epmd.out"
    )
    output = directory / "server.out"
    output.unlink(missing_ok=True)
    process = _run([str(server)], settings, output)
    holder = start_watchdog(process.pid, mapper.pid)
    broker = Broker(f"amqp://guest:guest@{host}:{port}/%2F", port, process, mapper, holder)
    try:
        _wait_until_it_answers(broker, host, output)
    except BaseException as error:
        broker.stop()
        if _DISTRIBUTION_TAKEN in str(error) or (anywhere and _TAKEN in str(error)):
            raise _PortTakenError(str(error)) from error
        raise
    return broker


def _configuration(host: str, port: int) -> str:
    return f"listeners.tcp.1 = {host}:{port}\nlog.console = false\nlog.file.level = warning\n"


def _environment(
    environment: Mapping[str, str], directory: Path, node: str, mapper_port: int, cluster_port: int
) -> dict[str, str]:
    """What makes the server private: nothing of a system-wide one is read, written or joined."""
    kept = {key: value for key, value in environment.items() if not key.startswith(("RABBITMQ_", "ERL_"))}
    return kept | {
        "PATH": _path(environment),
        "HOME": str(directory),
        "ERL_EPMD_ADDRESS": "127.0.0.1",
        "ERL_EPMD_PORT": str(mapper_port),
        "RABBITMQ_NODENAME": node,
        "RABBITMQ_DIST_PORT": str(cluster_port),
        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}",
        "RABBITMQ_MNESIA_BASE": str(directory / "data"),
        "RABBITMQ_LOG_BASE": str(directory / "log"),
        "RABBITMQ_CONFIG_FILE": str(directory / "rabbitmq.conf"),
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(directory / "enabled_plugins"),
        "RABBITMQ_CONF_ENV_FILE": str(directory / "rabbitmq-env.conf"),
        # The script then becomes the server instead of watching over it, so that its pid is the server's.
        "RUNNING_UNDER_SYSTEMD": "1",
    }


def _run(command: list[str], environment: dict[str, str], output: Path) -> subprocess.Popen[bytes]:
    executable = shutil.which(command[0], path=environment["PATH"]) or command[0]
    with output.open("ab") as said:
        return subprocess.Popen(
            [executable, *command[1:]],
            env=environment,
            cwd=output.parent,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            umask=private_files.UMASK,
            # Ctrl+C is for us: we end the server in our own time.
            start_new_session=True,
        )


def _wait_until_it_answers(broker: Broker, host: str, output: Path) -> None:
    # A process starts in real time, whatever the sandbox's clock shows.
    clock = Clock()
    deadline = clock.elapsed() + START_SECONDS
    while not _answers(host, broker.port):
        ended = broker.process.poll() is not None
        if ended or clock.elapsed() > deadline:
            what = (
                f"ended with {broker.process.returncode}"
                if ended
                else f"did not answer in {START_SECONDS:g} s"
            )
            said = output.read_text(encoding="utf-8", errors="replace")[-2000:]
            raise BrokerFailedError(f"rabbitmq-server {what} on port {broker.port}; it said:\n{said}")
        clock.wait(_POLL_SECONDS)


def _answers(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host, port), timeout=1.0) as connection:
            connection.sendall(_AMQP_GREETING)
            return bool(connection.recv(1))
    except OSError:
        return False


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
        return port


def _tell(process: subprocess.Popen[bytes], word: signal.Signals) -> None:
    if process.poll() is None:
        process.send_signal(word)
