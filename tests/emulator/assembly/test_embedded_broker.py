"""Our own broker on the AMQP port: when it is chosen, who may log in, a reset, and a kill."""

from __future__ import annotations

import os
import socket
from contextlib import closing, suppress
from pathlib import Path

import httpx
import pika
import pytest
from click.testing import CliRunner

from emulator.amqp.store.message_store import Rests
from emulator.assembly.embedded import choose_broker, embedded
from emulator.assembly.embedded_broker import EmbeddedBroker
from emulator.assembly.relayed_broker import RelayedBroker
from emulator.assembly.repair import repair
from emulator.assembly.sidecar_broker import SidecarBroker
from emulator.journal import Payloads, frames
from emulator.settings.settings import Settings
from emulator.snapshots.snapshot_store import SnapshotStore
from rdss_sandbox.client import Client
from sandbox.cli.environment.repair_command import repair as repair_command
from sandbox.profiles.in_process import started
from tests.emulator.amqp.calls import publish, queue
from tests.emulator.amqp.engine_client import OwnBroker
from tests.emulator.amqp.raw_client import build_properties

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


@pytest.mark.parametrize("name", ["a" * 255, "é" * 127, "😀" * 63])
def test_a_reply_text_that_is_too_long_is_cut(name: str) -> None:
    """Between characters; the client hears the refusal and keeps its connection."""
    with embedded(Settings(amqp="embedded", **MEMORY)) as emulator:
        assert emulator.broker.url is not None
        with closing(open_channel(emulator.broker.url).connection) as connection:
            with pytest.raises(pika.exceptions.ChannelClosedByBroker) as closed:
                connection.channel().queue_declare(name, passive=True)
            text = closed.value.reply_text
            assert text.startswith(f"NOT_FOUND - no queue '{name[:50]}")
            assert text.endswith("...")
            assert 250 < len(text.encode()) <= 255
            assert connection.is_open


def test_a_port_in_use_is_no_failure() -> None:
    """The sandbox starts all the same and says which port it was."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with embedded(Settings(amqp="embedded", **MEMORY | {"amqp_port": port})) as emulator:
            assert emulator.broker.url is None
            assert f"port {port} on 127.0.0.1 is in use" in emulator.broker.notes[0]


def keep_messages(settings: Settings, *queues: str) -> None:
    """Have one message in each durable queue, as a sandbox leaves it that was stopped."""
    with embedded(settings) as emulator:
        assert emulator.broker.url is not None
        with closing(open_channel(emulator.broker.url).connection) as connection:
            channel = connection.channel()
            channel.confirm_delivery()
            for name in queues:
                channel.queue_declare(name, durable=True)
                channel.basic_publish(
                    "", name, b"in " + name.encode(), pika.BasicProperties(delivery_mode=2), mandatory=True
                )


@pytest.mark.parametrize(
    "damaged",
    [
        ["definitions.log"],
        ["00000002.messages.log"],
        ["00000002.messages.log", "definitions.log", "00000001.messages.log"],
    ],
)
def test_damage_is_told_by_the_start_and_the_other_ports_go_on(damaged: list[str], tmp_path: Path) -> None:
    """In a line, an event and a note for each file, which say what to do, as of every other file."""
    settings = Settings(amqp="embedded", **MEMORY | {"data_dir": tmp_path})
    keep_messages(settings, "q", "r")
    paths = {tmp_path / "broker" / name for name in damaged}
    for path in paths:
        if not path.exists():
            path.write_bytes(frames.header(b"old") + b"old")
        content = bytearray(path.read_bytes())
        content[-1] ^= 1
        path.write_bytes(content)
    with embedded(settings) as emulator:
        assert len(emulator.damage) == len(damaged)
        for name in damaged:
            (line,) = (each for each in emulator.damage if f"{name} is damaged at byte" in each)
            assert "sandbox repair" in line
            assert line in emulator.status().notes
        assert "its files are damaged" in emulator.broker.notes[0]
        assert not emulator.broker.answers
        events = [each for each in emulator.components.events.since() if each.kind == "journal.damaged"]
        assert sorted(each.fields["file"] for each in events) == sorted(map(str, paths))
        assert httpx.get(f"{emulator.control}/health").is_success


def test_damage_is_told_where_the_other_files_cannot_be_read(tmp_path: Path) -> None:
    """Of the file that was read; the port is given up as for any damage, and the status says so."""
    settings = Settings(amqp="embedded", **MEMORY | {"data_dir": tmp_path})
    keep_messages(settings, "q")
    (tmp_path / "broker" / "definitions.log").write_bytes(b"x" * 100)
    (tmp_path / "broker" / "00000000.unreadable.log").mkdir()
    with embedded(settings) as emulator:
        (line,) = emulator.damage
        assert "definitions.log is damaged at byte 0" in line
        assert emulator.broker.url is None
        assert emulator.broker.notes == ("nothing answers on the AMQP port: its files are damaged",)


def test_a_start_that_is_over_has_told_of_the_damage(tmp_path: Path) -> None:
    """In a process of its own, where the broker takes a while to load: it is in what the start prints."""
    keep_messages(Settings(amqp="embedded", **MEMORY | {"data_dir": tmp_path / "data"}), "q")
    (tmp_path / "data" / "broker" / "definitions.log").write_bytes(b"x" * 100)
    options = ["--amqp", "embedded", "--topology", "none", "--data-dir", "data"]
    options += [word for port in ("aws", "control", "amqp") for word in (f"--{port}-port", "0")]
    with started(options, tmp_path) as running:
        (line,) = running.damage
        assert "definitions.log is damaged at byte 0" in line


def test_what_the_broker_did_not_write_whole_is_told_by_the_start(tmp_path: Path) -> None:
    """Once; the next start has nothing to say."""
    settings = Settings(amqp="embedded", **MEMORY | {"data_dir": tmp_path})
    keep_messages(settings, "q")
    (path,) = (tmp_path / "broker").glob("*.messages.log")
    path.write_bytes(path.read_bytes() + b"torn")
    with embedded(settings) as emulator:
        assert emulator.damage == (f"{path}: 4 bytes at its end were not written whole: cut",)
    with embedded(settings) as emulator:
        assert not emulator.damage


def test_a_repair_of_definitions_says_what_becomes_of_messages_and_keeps_them(tmp_path: Path) -> None:
    """A queue whose declaration cannot be read is gone, and a start removes what is for no queue."""
    settings = Settings(amqp="embedded", **MEMORY | {"data_dir": tmp_path})
    keep_messages(settings, "q", "r")
    path = tmp_path / "broker" / "definitions.log"
    written = next((tmp_path / "broker").glob("*.messages.log")).read_bytes()
    content = bytearray(path.read_bytes())
    content[content.index(b"\xa1q")] ^= 1
    path.write_bytes(content)
    (done,) = repair(tmp_path)
    assert (done.file, done.kept) == (str(path), 1)
    assert "messages of queues that were declared there are gone with it" in done.warning
    with embedded(settings) as emulator:
        assert emulator.broker.url is not None
        with closing(open_channel(emulator.broker.url).connection) as connection:
            assert connection.channel().basic_get("r")[2] == b"in r"
    (aside,) = (tmp_path / "put-aside").rglob("*.messages.log")
    assert aside.read_bytes() == written


def test_a_repair_that_keeps_no_definition_warns(tmp_path: Path) -> None:
    """The next start puts the messages aside, and nothing is removed."""
    settings = Settings(amqp="embedded", **MEMORY | {"data_dir": tmp_path})
    keep_messages(settings, "q")
    path = tmp_path / "broker" / "definitions.log"
    path.write_bytes(bytes([1]) * path.stat().st_size)
    ran = CliRunner().invoke(repair_command, ["--data-dir", str(tmp_path)])
    assert "no queue of the AMQP port is known any more" in ran.stdout
    with embedded(settings) as emulator:
        assert any("the queues of these messages are lost" in line for line in emulator.damage)
    assert list((tmp_path / "put-aside").rglob("*.messages.log"))


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


def keep_packed_messages(data: Path, count: int) -> list[bytes]:
    """Have so many messages in the durable queue ``q1``, in a file that is compressed."""
    broker = data / "broker"
    own = OwnBroker(broker)
    client = own.client()
    client.ask(queue(durable=True))
    bodies = [os.urandom(1000) for _ in range(count)]
    for body in bodies:
        client.publish(publish(), body, build_properties(mode=2))
    own.broker.close()
    with closing(Payloads(data)):
        own = OwnBroker(broker, rests=Rests(sparse=0, full=0))
        while own.broker.vhost.store.idle_seconds is not None:
            own.broker.proceed()
        own.broker.close()
    assert list(broker.glob("*.messages.packed"))
    return bodies


def test_a_byte_that_is_wrong_in_what_messages_share_costs_those_alone(tmp_path: Path) -> None:
    """The start says so and the other ports answer; ``sandbox repair`` keeps the other messages."""
    bodies = keep_packed_messages(tmp_path, 1200)
    (shared,) = (tmp_path / "payloads").iterdir()
    content = bytearray(shared.read_bytes())
    content[content.index(bodies[700]) + 5] ^= 1
    shared.write_bytes(content)
    settings = Settings(amqp="embedded", **MEMORY | {"data_dir": tmp_path})
    with embedded(settings) as emulator:
        assert any(f"{shared} is damaged at byte" in line for line in emulator.damage)
        assert not emulator.broker.answers
    kept = sum(done.kept for done in repair(tmp_path))
    with embedded(settings) as emulator:
        assert not emulator.damage
        assert emulator.broker.url is not None
        with closing(open_channel(emulator.broker.url).connection) as connection:
            channel = connection.channel()
            assert channel.queue_declare("q1", passive=True).method.message_count == kept
            found = [channel.basic_get("q1", auto_ack=True)[2] for _ in range(kept)]
    assert found == [body for body in bodies if body in set(found)]
    # One block of the shared file, of 256 KiB, has the byte.
    assert 1200 - 270 < kept < 1200


def test_messages_that_share_are_there_after_a_load_that_was_interrupted(tmp_path: Path) -> None:
    """A load begins anew at the next start, and the broker keeps what it has."""
    settings = Settings(amqp="embedded", **MEMORY | {"data_dir": tmp_path})
    bodies = keep_packed_messages(tmp_path, 1200)
    with embedded(settings) as emulator, Client(emulator.control) as control:
        control.snapshots.save("before")
    SnapshotStore(tmp_path / "snapshots").begin_load("before")
    with embedded(settings) as emulator:
        assert emulator.broker.url is not None
        with closing(open_channel(emulator.broker.url).connection) as connection:
            assert connection.channel().basic_get("q1")[2] == bodies[0]
