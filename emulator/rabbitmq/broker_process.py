"""A private RabbitMQ: the real server from PATH, with its own ports, files and node name."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import socket
import subprocess
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from emulator.clock import Clock
from emulator.machine import private_files
from emulator.rng import new_bytes
from rdss_sandbox.machine.watchdog import start_watchdog, stop_watchdog

START_SECONDS: Final = 60.0
_STOP_SECONDS: Final = 15.0
_POLL_SECONDS: Final = 0.05
_AMQP_GREETING: Final = b"AMQP\x00\x00\x09\x01"
_MORE_TRIES: Final = 3
USER: Final = "guest"
"""The one user, by the name that clients are used to."""
_PASSWORD_FILE: Final = "password"  # noqa: S105 -- where it is, not what
_DEFINITIONS: Final = "definitions.json"
_TAKEN: Final = "eaddrinuse"
_DISTRIBUTION_TAKEN: Final = "dist_port_already_used"
_ADMINISTRATORS: Final = ("/usr/sbin", "/usr/local/sbin", "/opt/homebrew/sbin", "/sbin")
"""Directories where distributions install servers, and which a user's PATH may lack."""
_CONTAINER: Final = "127.0.0.1:5673"
HOW_TO_GET_ONE: Final = (
    "Debian, Ubuntu: sudo apt-get install rabbitmq-server, then: sandbox up --amqp server --amqp-port 5673",
    "macOS: brew install rabbitmq, then: sandbox up --amqp server",
    (
        f"container: docker run --detach --publish {_CONTAINER}:5672 rabbitmq:4-management, "
        f"then: sandbox up --upstream-amqp amqp://guest:guest@{_CONTAINER}/"
    ),
)
"""The ways to have RabbitMQ behind the sandbox. Debian's package starts another server on 5672."""


class BrokerFailedError(RuntimeError):
    """The server did not start. The message holds its output."""


class _PortTakenError(BrokerFailedError):
    """A free port that we chose was taken by another process before the server used it."""


def find_server(environment: Mapping[str, str]) -> Path | None:
    """Find the ``rabbitmq-server`` to run. Returns None without it, or without ``epmd`` and ``erl``.

    Distributions put a wrapper on PATH that needs root or a system user, and system
    directories. The script beside it does not, so this returns the script.
    """
    path = _search_path(environment)
    found = shutil.which("rabbitmq-server", path=path)
    if not found or not shutil.which("epmd", path=path) or not shutil.which("erl", path=path):
        return None
    script = Path(found).resolve()
    return script if script.name == "rabbitmq-server" else script.with_name("rabbitmq-server")


def explain_missing_server(environment: Mapping[str, str]) -> str:
    """Explain, in words, what ``find_server`` did not find."""
    if shutil.which("rabbitmq-server", path=_search_path(environment)):
        return "rabbitmq-server is installed, but no Erlang to run it (erl and epmd on PATH)"
    return "no rabbitmq-server was found"


def _search_path(environment: Mapping[str, str]) -> str:
    return os.pathsep.join((environment.get("PATH", ""), *_ADMINISTRATORS))


@dataclass(frozen=True, slots=True)
class Broker:
    """A running server and its port ``mapper`` (epmd). ``url`` holds the password: do not show it.

    The ``watchdog`` ends both when this process ends in any way.
    """

    url: str
    port: int
    process: subprocess.Popen[bytes]
    mapper: subprocess.Popen[bytes]
    watchdog: subprocess.Popen[bytes]

    @property
    def pid(self) -> int:
        return self.process.pid

    def stop(self) -> None:
        """End the server, then its port mapper. Persistent messages stay in its directory."""
        stop_watchdog(self.watchdog)
        for process in (self.process, self.mapper):
            # A stopped process does not handle SIGTERM.
            _signal(process, signal.SIGCONT)
            _signal(process, signal.SIGTERM)
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                _signal(process, signal.SIGKILL)
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
    """Start a server with its files in ``directory``, and return when it answers.

    Port 0 takes a free one. To find the messages again, start it with the same name and
    directory. The password is drawn at each start: only ``Broker.url`` and the private file
    ``password`` have it. Raises BrokerFailedError.
    """
    private_files.make_directory(directory)
    for _ in range(_MORE_TRIES):
        try:
            return _start_once(server, directory, environment, host, port=port, name=name)
        except _PortTakenError:
            continue
    return _start_once(server, directory, environment, host, port=port, name=name)


def _start_once(
    server: Path, directory: Path, environment: Mapping[str, str], host: str, *, port: int, name: str
) -> Broker:
    anywhere, port = port == 0, port or _free_port()
    mapper_port, cluster_port = _free_port(), _free_port()
    settings = _build_environment(environment, directory, f"{name}@localhost", mapper_port, cluster_port)
    password = new_bytes(32).hex()
    private_files.touch(directory / _PASSWORD_FILE).write_text(f"{password}\n", encoding="ascii")
    private_files.touch(directory / _DEFINITIONS).write_bytes(_definitions(password))
    private_files.touch(directory / "rabbitmq.conf").write_text(_configuration(host, port), encoding="utf-8")
    private_files.touch(directory / "enabled_plugins").write_text("[].\n", encoding="utf-8")
    mapper = _run(
        ["epmd", "-address", "127.0.0.1", "-port", str(mapper_port)], settings, directory / "epmd.out"
    )
    output = directory / "server.out"
    output.unlink(missing_ok=True)
    process = _run([str(server)], settings, output)
    watchdog = start_watchdog(process.pid, mapper.pid)
    broker = Broker(f"amqp://{USER}:{password}@{host}:{port}/%2F", port, process, mapper, watchdog)
    try:
        _wait_until_ready(broker, host, output)
    except BaseException as error:
        broker.stop()
        if _DISTRIBUTION_TAKEN in str(error) or (anywhere and _TAKEN in str(error)):
            raise _PortTakenError(str(error)) from error
        raise
    return broker


def _configuration(host: str, port: int) -> str:
    return "\n".join(
        (
            f"listeners.tcp.1 = {host}:{port}",
            # Relative to the server's working directory, whose own name may have what this syntax cannot.
            f"load_definitions = {_DEFINITIONS}",
            # Neither lets anybody in without the password, as ANONYMOUS of RabbitMQ 4 may.
            "auth_mechanisms.1 = PLAIN",
            "auth_mechanisms.2 = AMQPLAIN",
            "log.console = false",
            "log.file.level = warning",
            "",
        )
    )


def _definitions(password: str) -> bytes:
    """What the server reads at each start before it listens: its user's password, also over an older one.

    The hash is RabbitMQ's: four bytes of salt, and SHA-256 of them and the password.
    """
    salt = new_bytes(4)
    user = {
        "name": USER,
        "password_hash": b64encode(salt + hashlib.sha256(salt + password.encode()).digest()).decode(),
        "hashing_algorithm": "rabbit_password_hashing_sha256",
        "tags": ["administrator"],
    }
    may = {"user": USER, "vhost": "/", "configure": ".*", "write": ".*", "read": ".*"}
    return msgspec.json.encode({"users": [user], "vhosts": [{"name": "/"}], "permissions": [may]})


def _build_environment(
    environment: Mapping[str, str], directory: Path, node: str, mapper_port: int, cluster_port: int
) -> dict[str, str]:
    """The environment of a private server, which uses no file, port or cluster of a system-wide one."""
    kept = {key: value for key, value in environment.items() if not key.startswith(("RABBITMQ_", "ERL_"))}
    return kept | {
        "PATH": _search_path(environment),
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
        # With this the script execs the server instead of supervising it, so its pid is the server's.
        "RUNNING_UNDER_SYSTEMD": "1",
    }


def _run(command: list[str], environment: dict[str, str], output: Path) -> subprocess.Popen[bytes]:
    executable = shutil.which(command[0], path=environment["PATH"]) or command[0]
    with private_files.touch(output).open("ab") as log:
        return subprocess.Popen(
            [executable, *command[1:]],
            env=environment,
            cwd=output.parent,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            umask=private_files.UMASK,
            # A new session, so that Ctrl+C reaches only the sandbox, which then stops the server.
            start_new_session=True,
        )


def _wait_until_ready(broker: Broker, host: str, output: Path) -> None:
    # A process needs real time to start, so this does not use the sandbox's clock.
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
            log = output.read_text(encoding="utf-8", errors="replace")[-2000:]
            raise BrokerFailedError(f"rabbitmq-server {what} on port {broker.port}; it said:\n{log}")
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


def _signal(process: subprocess.Popen[bytes], word: signal.Signals) -> None:
    if process.poll() is None:
        process.send_signal(word)
