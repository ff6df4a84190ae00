"""Our own broker on the AMQP port: when it is chosen, who may log in, a reset, and a kill."""

from __future__ import annotations

import os
import socket
from contextlib import closing, suppress
from pathlib import Path

import httpx
import pika
import pytest

from emulator.assembly.broker import SidecarBroker
from emulator.assembly.embedded import choose_broker, embedded
from emulator.assembly.embedded_broker import EmbeddedBroker
from emulator.assembly.relayed_broker import RelayedBroker
from emulator.clock import Clock
from emulator.settings.settings import Settings
from sandbox.profiles.in_process import started

MEMORY = {"aws_port": 0, "control_port": 0, "amqp_port": 0, "data_dir": None}


@pytest.mark.parametrize(
    ("asked", "chosen"),
    [
        (None, EmbeddedBroker),
        ("embedded", EmbeddedBroker),
        ("server", SidecarBroker),
        ("none", SidecarBroker),
    ],
)
def test_our_broker_answers_unless_something_else_is_asked_for(asked: str | None, chosen: type) -> None:
    """Whether or not a RabbitMQ is installed."""
    assert choose_broker(Settings(amqp=asked)) is chosen  # type: ignore[arg-type]


@pytest.mark.parametrize("asked", ["embedded", "server", "none"])
def test_an_upstream_goes_before_all(asked: str) -> None:
    settings = Settings(amqp=asked, upstream_amqp="amqp://localhost")  # type: ignore[arg-type]
    assert choose_broker(settings) is RelayedBroker


def open_channel(url: str) -> pika.adapters.blocking_connection.BlockingChannel:
    return pika.BlockingConnection(pika.URLParameters(url)).channel()


def test_guest_logs_in_and_nobody_else() -> None:
    """As at a RabbitMQ that was just installed."""
    with embedded(Settings(amqp="embedded", **MEMORY)) as emulator:
        url = emulator.broker.url
        assert url is not None
        open_channel(url).connection.close()
        for wrong in ("guest:wrong", "bob:guest"):
            with pytest.raises(pika.exceptions.ProbableAuthenticationError):
                open_channel(url.replace("guest:guest", wrong))
        assert "own broker" in emulator.broker.notes[0]
        assert emulator.status().amqp == url


def test_a_token_is_the_password_of_any_user() -> None:
    """Where one is set."""
    with embedded(Settings(amqp="embedded", token="secret", **MEMORY)) as emulator:
        url = emulator.broker.url
        assert url is not None
        open_channel(url.replace("guest:", "anybody:")).connection.close()
        with pytest.raises(pika.exceptions.AMQPConnectionError):
            open_channel(url.replace("secret", "guest"))


def test_a_reset_empties_it() -> None:
    """Its queues are gone; connections stay."""
    with embedded(Settings(amqp="embedded", **MEMORY)) as emulator:
        assert emulator.broker.url is not None
        with closing(open_channel(emulator.broker.url).connection) as connection:
            connection.channel().queue_declare("q")
            emulator.reset()
            with pytest.raises(pika.exceptions.ChannelClosedByBroker, match="no queue 'q'"):
                connection.channel().queue_declare("q", passive=True)


def test_a_port_in_use_is_no_failure() -> None:
    """The sandbox starts all the same and says which port it was."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with embedded(Settings(amqp="embedded", **MEMORY | {"amqp_port": port})) as emulator:
            assert emulator.broker.url is None
            assert f"port {port} on 127.0.0.1 is in use" in emulator.broker.notes[0]


def test_damage_is_told_and_the_other_ports_go_on(tmp_path: Path) -> None:
    """What it would take to read the broker's files is in the note."""
    folder = tmp_path / "broker"
    folder.mkdir()
    (folder / "definitions.log").write_bytes(b"x" * 100)
    settings = Settings(amqp="embedded", **MEMORY | {"data_dir": tmp_path})
    with embedded(settings) as emulator:
        while emulator.broker.answers:
            Clock().wait(0.01)
        assert "definitions.log is damaged" in emulator.broker.notes[0]
        assert httpx.get(f"{emulator.control}/health").is_success


def test_messages_whose_queues_are_lost_are_put_aside(tmp_path: Path) -> None:
    """A power cut may leave no definitions: nothing is deleted, and the status says what was."""
    settings = Settings(amqp="embedded", **MEMORY | {"data_dir": tmp_path})
    with embedded(settings) as emulator:
        assert emulator.broker.url is not None
        with closing(open_channel(emulator.broker.url).connection) as connection:
            channel = connection.channel()
            channel.queue_declare("q", durable=True)
            channel.confirm_delivery()
            channel.basic_publish("", "q", b"kept", pika.BasicProperties(delivery_mode=2), mandatory=True)
    (messages,) = (tmp_path / "broker").glob("*.messages.log")
    written = messages.read_bytes()
    (tmp_path / "broker/definitions.log").unlink()
    with embedded(settings) as emulator:
        notes = emulator.status().notes
    assert any("the exchanges, queues and bindings of the AMQP port is gone" in note for note in notes)
    (aside,) = (tmp_path / "put-aside").rglob("*.messages.log")
    assert aside.read_bytes() == written


def test_what_was_confirmed_survives_a_kill(tmp_path: Path) -> None:
    """Of the process, in the midst of publishing; what was out comes back marked."""
    options = ["--amqp", "embedded", "--topology", "none", "--data-dir", "data"]
    options += [word for port in ("aws", "control", "amqp") for word in (f"--{port}-port", "0")]
    persistent = pika.BasicProperties(delivery_mode=2)
    confirmed = 0
    with started(options, tmp_path) as running:
        assert running.amqp is not None
        channel = open_channel(running.amqp)
        channel.queue_declare("q", durable=True)
        channel.confirm_delivery()
        for number in range(200):
            channel.basic_publish("", "q", b"%d" % number, persistent, mandatory=True)
            confirmed += 1
        channel.basic_get("q")
        channel.basic_ack(channel.basic_get("q")[0].delivery_tag)
        channel.queue_declare("q", passive=True)
        os.kill(running.pid, 9)
        with suppress(pika.exceptions.AMQPError):
            channel.connection.close()
    with started(options, tmp_path) as running:
        assert running.amqp is not None
        with closing(open_channel(running.amqp).connection) as connection:
            channel = connection.channel()
            found = [channel.basic_get("q", auto_ack=True) for _ in range(confirmed - 1)]
            assert [body for _, _, body in found] == [b"%d" % number for number in range(200) if number != 1]
            assert [method.redelivered for method, _, _ in found] == [True, *[False] * (confirmed - 2)]
