"""A private RabbitMQ server: started, stopped, and found as it was left."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pika
import pytest
from pika.exceptions import ProbableAuthenticationError

from emulator.channels.rabbitmq import RabbitMQChannel
from emulator.clock import Clock
from emulator.rabbitmq.broker_process import BrokerFailedError, find_server, start_broker
from tests.waiting import wait_until


@pytest.fixture
def server() -> Path:
    found = find_server(os.environ)
    assert found is not None
    return found


@pytest.mark.rabbitmq
def test_a_restarted_server_has_its_messages_and_nothing_keeps_running(server: Path, tmp_path: Path) -> None:
    """The same directory and name: what was confirmed survives; both processes end by pid.

    The password is another each time: so is one that somebody read, or that an earlier version left there.
    """
    first = start_broker(server, tmp_path, os.environ)
    channel = RabbitMQChannel(first.url, "kept", clock=Clock())
    channel.publish(b"x", "k")
    channel.close()
    first.stop()
    assert (first.process.poll(), first.mapper.poll() is not None) == (0, True)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", first.port), timeout=1)
    second = start_broker(server, tmp_path, os.environ)
    for password in (str(urlsplit(first.url).password), "guest"):
        with pytest.raises(ProbableAuthenticationError):
            pika.BlockingConnection(pika.URLParameters(_with_password(second.url, password)))
    channel = RabbitMQChannel(second.url, "kept", clock=Clock())
    assert [delivery.data for delivery in channel.read(wait=10)] == [b"x"]
    channel.close()
    second.stop()


@pytest.mark.rabbitmq
def test_nobody_logs_in_but_who_reads_the_private_file(server: Path, tmp_path: Path) -> None:
    """Neither as RabbitMQ comes nor by what others see of it: its arguments, its log, its other files."""
    directory = tmp_path / "with a space, and #"
    broker = start_broker(server, directory, os.environ)
    try:
        password = str(urlsplit(broker.url).password)
        with pytest.raises(ProbableAuthenticationError):
            pika.BlockingConnection(pika.URLParameters(_with_password(broker.url, "guest")))
        assert (directory / "password").read_text() == f"{password}\n"
        files = [path for path in directory.rglob("*") if path.is_file()]
        assert [path.name for path in files if password.encode() in path.read_bytes()] == ["password"]
        top = {path.name: path.stat().st_mode & 0o077 for path in (directory, *directory.iterdir())}
        assert not any(top.values()), top
        processes = subprocess.run(["ps", "axww", "-o", "args"], capture_output=True, text=True, check=True)
        assert password not in processes.stdout
    finally:
        broker.stop()


def _with_password(url: str, password: str) -> str:
    return url.replace(str(urlsplit(url).password), password)


@pytest.mark.rabbitmq
def test_a_server_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    """Even when that is killed and can tidy up nothing."""
    program = (
        "import os, pathlib, sys\n"
        "from emulator.rabbitmq.broker_process import find_server, start_broker\n"
        "broker = start_broker(find_server(os.environ), pathlib.Path(sys.argv[1]), os.environ)\n"
        "print(broker.port, flush=True)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    killed = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, check=False)
    assert killed.returncode == -9
    address = ("127.0.0.1", int(killed.stdout))
    wait_until(lambda: not _listens(address), seconds=30)


def _listens(address: tuple[str, int]) -> bool:
    try:
        socket.create_connection(address, timeout=1).close()
    except OSError:
        return False
    return True


@pytest.mark.rabbitmq
def test_a_port_that_is_taken_is_named(server: Path, tmp_path: Path) -> None:
    """With what the server said; nothing is left running."""
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        pytest.raises(BrokerFailedError, match=f"port {taken.getsockname()[1]}"),
    ):
        start_broker(server, tmp_path, os.environ, port=taken.getsockname()[1])


@pytest.mark.rabbitmq
@pytest.mark.parametrize(
    ("said", "port", "starts"),
    [("dist_port_already_used", 1, 4), ("eaddrinuse", 0, 4), ("eaddrinuse", 1, 1), ("no disk", 0, 1)],
)
def test_a_port_that_nobody_asked_for_and_that_is_taken_is_another_next_time(
    tmp_path: Path, said: str, port: int, starts: int
) -> None:
    """Between finding a free port and using it somebody else may have it; other failures are told at once."""
    server = tmp_path / "rabbitmq-server"
    server.write_text(f"#!/bin/sh\necho start >> {tmp_path}/starts\necho {said}\nexit 1\n")
    server.chmod(0o755)
    with pytest.raises(BrokerFailedError, match=said):
        start_broker(server, tmp_path / "files", os.environ, port=port)
    assert (tmp_path / "starts").read_text().count("start") == starts


def test_no_server_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is for the caller to say that RabbitMQ is not there."""
    monkeypatch.setattr("emulator.rabbitmq.broker_process._ADMINISTRATORS", ())
    assert find_server({"PATH": str(tmp_path)}) is None
    assert find_server({}) is None
