"""RabbitMQ beside the emulator: there without being waited for, or said why not."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pika
import pytest

from emulator.assembly.sidecar_broker import TARGET, SidecarBroker, end_leftovers
from emulator.channels.memory import DEFAULT_SCOPE
from emulator.clock import Clock
from emulator.events import Events
from emulator.faults.fault_engine import FaultEngine
from emulator.rng import Chance
from emulator.settings.settings import Settings
from emulator.streams.amqp_log import AmqpLog


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def sidecar(settings: Settings) -> SidecarBroker:
    clock = Clock()
    events = Events(clock)
    return SidecarBroker(
        settings, clock, events, FaultEngine(Chance(1), clock, events), AmqpLog(None, clock, DEFAULT_SCOPE)
    )


async def test_none_starts_nothing() -> None:
    """With --amqp none nothing is started, and the note says so and why."""
    broker = sidecar(Settings(amqp="none"))
    broker.start(os.environ)
    await broker.stop()

    assert (broker.url, broker.answers) == (None, False)
    assert broker.notes == ("nothing answers on the AMQP port: it was started with --amqp none",)


async def test_without_a_server_the_note_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No failure: nothing listens, and a line for each kind of system says what helps."""
    monkeypatch.setattr("emulator.rabbitmq.broker_process._ADMINISTRATORS", ())
    broker = sidecar(Settings(amqp="server", amqp_port=(port := free_port()), data_dir=tmp_path))
    broker.start({"PATH": str(tmp_path)})

    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))
    await broker.stop()
    assert (broker.url, broker.answers) == (None, False)
    what, *remedies = broker.notes
    assert what == "nothing answers on the AMQP port: no rabbitmq-server was found"
    assert [line.split(":")[0] for line in remedies] == ["Debian, Ubuntu", "macOS", "container"]


async def test_a_server_without_erlang_is_said_to_lack_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is missing is named, not what is there."""
    monkeypatch.setattr("emulator.rabbitmq.broker_process._ADMINISTRATORS", ())
    (tmp_path / "rabbitmq-server").touch(mode=0o755)
    broker = sidecar(Settings(amqp="server", data_dir=tmp_path / "data"))
    broker.start({"PATH": str(tmp_path)})
    await broker.stop()

    assert "no Erlang to run it" in broker.notes[0]


@pytest.mark.rabbitmq
async def test_a_port_in_use_is_no_failure(tmp_path: Path) -> None:
    """The sandbox starts all the same and says which port it was."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        broker = sidecar(Settings(amqp="server", amqp_port=port, data_dir=tmp_path))
        broker.start(os.environ)
        await broker.stop()

    assert broker.url is None
    assert f"port {port} on 127.0.0.1 is in use" in broker.notes[0]


@pytest.mark.rabbitmq
async def test_the_real_server_answers_after_a_while_and_ends_with_us(tmp_path: Path) -> None:
    """Its address is known at once; a client connects once it is up; it is gone when we are."""
    broker = sidecar(Settings(amqp="server", amqp_port=0, data_dir=tmp_path))
    broker.start(os.environ)
    assert broker.url is not None
    assert not broker.answers
    assert broker._starting is not None
    await broker._starting
    assert broker.answers, broker.notes
    assert TARGET in broker._fault_engine.targets

    connection = await asyncio.to_thread(pika.BlockingConnection, pika.URLParameters(broker.url))
    await asyncio.to_thread(connection.close)
    assert urlsplit(broker.url).netloc.startswith("guest:guest@")
    secret = (tmp_path / "rabbitmq" / "password").read_text().strip()
    assert secret
    assert secret not in repr([broker.notes, broker.url, broker._events.since()])
    for wrong in ("guest:wrong", "bob:guest"):
        with pytest.raises(pika.exceptions.ProbableAuthenticationError):
            await asyncio.to_thread(
                pika.BlockingConnection, pika.URLParameters(broker.url.replace("guest:guest", wrong))
            )
    await broker.stop()
    with pytest.raises(pika.exceptions.AMQPConnectionError):
        await asyncio.to_thread(pika.BlockingConnection, pika.URLParameters(broker.url))


@pytest.mark.skipif(
    not Path("/proc/self/environ").exists(), reason="this machine does not tell a process's home"
)
def test_what_a_killed_sandbox_left_is_ended_and_nothing_else(tmp_path: Path) -> None:
    """Only a process whose home is this very directory."""
    command = [sys.executable, "-c", "print('up', flush=True); input()"]
    processes = [
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ | {"HOME": str(home)}
        )
        for home in (tmp_path, tmp_path / "other")
    ]
    ours, other = processes
    for process in processes:
        assert process.stdout is not None
        process.stdout.readline()
    (tmp_path / "processes").write_text(f"{ours.pid} {other.pid}")

    end_leftovers(tmp_path)
    assert ours.wait(60) == -signal.SIGKILL
    assert other.poll() is None
    assert not (tmp_path / "processes").exists()
    for process in processes:
        process.communicate()
    assert other.returncode != -signal.SIGKILL
