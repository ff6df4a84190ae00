"""Files of messages that are full are packed: their bodies are shared with the streams that have them too."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import closing, suppress
from pathlib import Path

import pytest
from pybase64 import b64encode

from emulator.amqp.store import message_store
from emulator.amqp.store.message_store import Rests
from emulator.amqp.store.packed_messages import PackedMessages
from emulator.amqp.wire import methods as m
from emulator.journal import Payloads, Segments
from emulator.kinesis.stored_records import data_spans
from tests.emulator.amqp.calls import consume, publish, queue
from tests.emulator.amqp.engine_client import EngineClient, OwnBroker
from tests.emulator.amqp.raw_client import Came, build_properties

KEPT = build_properties(mode=2)
COUNT = 1500


@pytest.fixture
def payloads(tmp_path: Path) -> Iterator[Payloads]:
    with closing(Payloads(tmp_path)) as opened:
        yield opened


def bytes_in(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def fill(broker: Path) -> list[bytes]:
    """Leave a durable queue with 1.5 MB of messages that cannot be compressed, in one file."""
    own = OwnBroker(broker)
    client = own.client()
    client.ask(queue(durable=True))
    bodies = [os.urandom(1000) for _ in range(COUNT)]
    for body in bodies:
        client.publish(publish(), body, KEPT)
    own.broker.close()
    return bodies


def pack(broker: Path) -> OwnBroker:
    """Start a broker, and do what is due, until nothing is that another thread does."""
    own = OwnBroker(broker, rests=Rests(sparse=0, full=0))
    go_on(own)
    assert len(list(broker.glob("*.packed"))) == 1
    return own


def go_on(own: OwnBroker) -> None:
    while own.broker.vhost.store.idle_seconds is not None:
        own.broker.proceed()


def drain(client: EngineClient) -> list[bytes]:
    client.say(consume(no_ack=True))
    return [each.body for each in client.take() if isinstance(each, Came)]


@pytest.mark.usefixtures("payloads")
def test_a_message_and_its_record_are_on_disk_once(tmp_path: Path) -> None:
    """Also after a start; with the last message its files go, and the record stays."""
    broker = tmp_path / "broker"
    bodies = fill(broker)
    own = pack(broker)
    assert not list(broker.glob("*.messages.log"))
    records = Segments(tmp_path / "streams")
    for body in bodies:
        records.append(b'{"Data":"%b"},\n' % b64encode(body), 1, len(body), 1)
    records.roll(1)
    assert (segment := records.cold) is not None
    assert records.replace(segment, segment.pack(data_spans))
    assert bytes_in(tmp_path) < 1.1 * sum(map(len, bodies))
    own.broker.close()
    again = OwnBroker(broker)
    assert drain(again.client()) == bodies
    assert not list(broker.glob("*.messages.*"))
    assert records.read(1, COUNT, 1 << 30).lines == COUNT
    again.broker.close()
    records.delete()
    assert not list((tmp_path / "payloads").glob("*"))


def test_a_log_beside_a_packed_file_counts(tmp_path: Path) -> None:
    """A process died when it had written the one, and not yet removed the other."""
    broker = tmp_path / "broker"
    bodies = fill(broker)
    (log,) = broker.glob("*.messages.log")
    written = log.read_bytes()
    with closing(Payloads(tmp_path)):
        pack(broker).broker.close()
    log.write_bytes(written)
    with closing(Payloads(tmp_path)) as payloads:
        payloads.recover(careful=False)
        again = OwnBroker(broker)
        assert not list(broker.glob("*.packed"))
        assert not list(payloads.folder.glob("*"))
        assert drain(again.client()) == bodies
        again.broker.close()


def test_a_packed_file_shrinks(tmp_path: Path, payloads: Payloads) -> None:
    """One of each hundred messages stays: it takes little again, and none is lost by a kill."""
    broker = tmp_path / "broker"
    bodies = fill(broker)
    own = pack(broker)
    client = own.client()
    client.ask(m.BasicQos(0, 0, False))
    client.say(consume())
    client.take()
    for tag in range(1, COUNT + 1):
        if tag % 100:
            client.say(m.BasicAck(tag, False))
    go_on(own)
    assert bytes_in(tmp_path) < 4 * 1000 * COUNT / 100
    assert not list(payloads.folder.glob("*"))
    found = drain(OwnBroker(broker).client())
    assert found == bodies[99::100]


def test_what_is_consumed_while_it_is_packed_is_not_packed(tmp_path: Path, payloads: Payloads) -> None:
    """The other thread leaves off, and nothing of it stays."""
    broker = tmp_path / "broker"
    bodies = fill(broker)
    # Packing waits for it.
    with payloads.working:
        own = OwnBroker(broker, rests=Rests(full=0))
        own.broker.proceed()
        assert not own.broker.is_busy
        assert drain(own.client()) == bodies
    own.broker.close()
    assert not list(broker.glob("*.packed*"))
    assert not list(payloads.folder.glob("*"))


@pytest.mark.usefixtures("payloads")
@pytest.mark.parametrize("removals", range(4))
def test_a_process_that_dies_as_a_packed_file_goes_brings_nothing_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, removals: int
) -> None:
    """The last message of a file is acknowledged: wherever the process ends, no other comes again."""
    broker = tmp_path / "broker"
    fill(broker)
    own = pack(broker)
    own.broker.vhost.store._rests = Rests(sparse=3600)
    client = own.client()
    client.say(consume())
    client.say(m.BasicAck(COUNT - 1, True))
    assert next(iter(own.broker.vhost.store._files.values())).is_packed
    unlink, left = Path.unlink, removals

    def die(path: Path, *, missing_ok: bool = False) -> None:
        nonlocal left
        if not left:
            raise KeyboardInterrupt
        left -= 1
        unlink(path, missing_ok=missing_ok)

    with monkeypatch.context() as patched, suppress(KeyboardInterrupt):
        patched.setattr(Path, "unlink", die)
        client.say(m.BasicAck(COUNT, False))
    again = OwnBroker(broker)
    assert again.client().ask(queue(durable=True)).message_count <= 1
    again.broker.close()


def test_a_store_that_is_closed_has_removed_what_it_gave_up(
    tmp_path: Path, payloads: Payloads, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next one of the directory, in the same process, loses no file of its own to it."""
    closed, came_late, remove = threading.Event(), [], message_store._delete_packed

    def remove_slowly(packed: Future[PackedMessages]) -> None:
        came_late.append(closed.wait(0.2))
        remove(packed)

    monkeypatch.setattr(message_store, "_delete_packed", remove_slowly)
    fill(tmp_path / "broker")
    with payloads.working:
        own = OwnBroker(tmp_path / "broker", rests=Rests(full=0))
        own.broker.proceed()
        drain(own.client())
    own.broker.close()
    closed.set()
    assert came_late == [False]
