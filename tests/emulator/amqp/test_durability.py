"""What a broker that died finds again: the same as a kill -9, since nothing is written at the end."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from unittest.mock import patch

import pytest

from emulator.amqp.store.message_store import FILE_BYTES
from emulator.amqp.wire import methods as m
from emulator.journal import DamagedLogError
from tests.emulator.amqp.calls import (
    bind,
    bind_exchange,
    consume,
    declared,
    delete,
    delete_exchange,
    exchange,
    get,
    publish,
    purge,
    queue,
)
from tests.emulator.amqp.engine_client import EngineClient, OwnBroker
from tests.emulator.amqp.raw_client import Came, build_properties

KEPT = build_properties({"a": 1}, mode=2)


def fill(client: EngineClient, *bodies: bytes, properties: bytes = KEPT) -> None:
    client.ask(m.ConfirmSelect(False))
    for body in bodies:
        assert isinstance(client.publish(publish(), body, properties)[-1], m.BasicAck)


def bodies(client: EngineClient, name: str = "q1") -> list[tuple[bytes, bool]]:
    """What lies in a queue, and whether it is marked redelivered."""
    found = []
    while isinstance(came := client.ask(get(name, no_ack=True)), Came):
        found.append((came.body, came.method.redelivered))
    return found


def test_confirmed_messages_come_back_in_order(tmp_path: Path) -> None:
    """Those that are persistent, in a queue that is durable; each with its properties."""
    client = OwnBroker(tmp_path).client()
    client.ask(queue(durable=True))
    client.ask(queue("q2"))
    fill(client, b"0", b"1", b"2")
    client.publish(publish(), b"passing")
    client.publish(publish("q2"), b"passing", KEPT)

    again = OwnBroker(tmp_path).client()
    came = again.ask(get(no_ack=True))
    assert (came.body, came.headers, came.properties.number("delivery_mode")) == (b"0", {"a": 1}, 2)
    assert bodies(again) == [(b"1", False), (b"2", False)]
    assert isinstance(again.ask(queue("q2", passive=True)), m.ChannelClose)


def test_what_was_out_comes_back_marked_and_what_was_acknowledged_does_not(tmp_path: Path) -> None:
    """A message rejected for good does not either."""
    client = OwnBroker(tmp_path).client()
    client.ask(queue(durable=True))
    fill(client, b"0", b"1", b"2", b"3", b"4")
    client.ask(m.BasicQos(0, 4, False))
    client.ask(consume())
    client.say(m.BasicAck(1, False))
    client.say(m.BasicReject(3, False))
    client.say(m.BasicReject(4, True))

    assert bodies(OwnBroker(tmp_path).client()) == [(b"1", True), (b"3", True), (b"4", True)]


def test_what_comes_back_together_is_put_in_order(tmp_path: Path) -> None:
    """The second was delivered before the first, which had come back once."""
    client = OwnBroker(tmp_path).client()
    client.ask(queue(durable=True))
    fill(client, b"0", b"1", b"2")
    client.ask(get())
    client.ask(get())
    client.say(m.BasicReject(1, True))
    client.ask(get())
    client.say(m.BasicNack(3, True, True))
    assert bodies(client) == [(b"0", True), (b"1", True), (b"2", False)]


def test_a_queue_has_no_message_of_an_earlier_process_by_mistake(tmp_path: Path) -> None:
    """Neither of a queue that was deleted then, nor of one that is still there."""
    client = OwnBroker(tmp_path).client()
    client.ask(queue("q3", durable=True))
    client.ask(queue(durable=True))
    client.publish(publish("q3"), b"kept", KEPT)
    fill(client, b"old")
    client.ask(get())
    client.ask(delete())
    client = OwnBroker(tmp_path).client()
    client.ask(queue("q2", durable=True))
    client = OwnBroker(tmp_path).client()
    assert bodies(client, "q2") == []
    assert bodies(client, "q3") == [(b"kept", False)]


def test_a_routing_key_that_is_no_utf_8_comes_back(tmp_path: Path) -> None:
    """A key may be any bytes: the message is on disk with them, and a dead letter remembers its own."""
    client = OwnBroker(tmp_path).client()
    dead = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "q2"}
    client.ask(queue(durable=True, arguments=dead))
    client.ask(queue("q2", durable=True))
    client.ask(exchange("e1", "fanout", durable=True))
    client.ask(bind("e1"))
    client.publish(publish("k\udcff", "e1"), b"kept", KEPT)
    client = OwnBroker(tmp_path).client()
    came = client.ask(get())
    assert (came.method.routing_key, came.body) == ("k\udcff", b"kept")
    client.say(m.BasicReject(1, False))

    (death,) = OwnBroker(tmp_path).client().ask(get("q2")).properties.headers()["x-death"].value

    assert death.value["routing-keys"].value[0].value == b"k\xff"


def test_definitions_come_back(tmp_path: Path) -> None:
    """Durable exchanges, queues and the bindings between them, with their arguments."""
    client = OwnBroker(tmp_path).client()
    arguments = {"x-max-length": 5, "x-dead-letter-exchange": "e1"}
    client.ask(queue(durable=True, arguments=arguments))
    client.ask(queue("q2", durable=True))
    client.ask(exchange("e1", "topic", durable=True, arguments={"alternate-exchange": "e2"}))
    client.ask(exchange("e2", "fanout", durable=True))
    client.ask(exchange("e3", "fanout"))
    client.ask(bind("e1", "a.*"))
    client.ask(bind("e1", "b"))
    client.ask(m.QueueUnbind(0, "q1", "e1", "b", {}))
    client.ask(bind_exchange("e1", "e2", "c.#"))
    client.ask(bind("e2", to="q2"))
    client.ask(delete("q3"))
    for _ in range(2):
        # Twice: the second time reads what the first has written anew.
        client = OwnBroker(tmp_path).client()
    assert client.ask(queue(durable=True, arguments=arguments)) == declared()
    assert isinstance(client.ask(exchange("e1", passive=True)), m.ExchangeDeclareOk)
    for key in ("a.x", "b", "c"):
        client.publish(publish(key, "e1"), key.encode())
    assert bodies(client) == [(b"a.x", False)]
    assert bodies(client, "q2") == [(b"b", False), (b"c", False)]
    assert isinstance(client.ask(exchange("e3", passive=True)), m.ChannelClose)


def test_definitions_of_the_format_before_are_taken_over_once(tmp_path: Path) -> None:
    """Exchanges, queues and bindings; what was deleted has not come back with what has its name now."""
    log = tmp_path / "definitions.log"
    shutil.copyfile(Path(__file__).with_name("format_1_definitions.log"), log)
    for _ in range(2):
        # Twice: the second time reads what the first has written anew.
        own = OwnBroker(tmp_path)
        found = own.broker.vhost
        assert found.last_id == 5
        assert {name: queue.id for name, queue in found.queues.items()} == {"q1": 1, "q2": 2, "q3": 4}
        bound = {
            (name, *binding.destination, binding.routing_key)
            for name, exchange in found.exchanges.items()
            for binding in exchange.bindings.values()
        }
        assert bound == {
            ("e1", "queue", "q1", "a"),
            ("e1", "exchange", "e2", "d"),
            ("e2", "queue", "q2", "q"),
        }
        own.broker.close()
    assert b"no exchange" not in log.read_bytes()


@pytest.mark.parametrize("again", [queue("q1", durable=True), exchange("e2", durable=True)])
def test_bindings_go_with_either_end_and_do_not_come_back(tmp_path: Path, again: m.Method) -> None:
    """What is declared anew under the name of an end has none, also after the broker died."""
    client = OwnBroker(tmp_path).client()
    for made in (exchange("e1", durable=True), exchange("e2", durable=True), queue("q1", durable=True)):
        client.ask(made)
    client.ask(bind("e2", "a"))
    client.ask(bind_exchange("e1", "e2", "a"))
    client.ask(delete("q1") if isinstance(again, m.QueueDeclare) else delete_exchange("e2"))
    client.ask(again)
    found = OwnBroker(tmp_path).broker.vhost
    assert set(found.queues) == {"q1"}
    assert not found.exchanges["e2"].bindings
    assert bool(found.exchanges["e1"].bindings) == isinstance(again, m.QueueDeclare)


def test_a_binding_made_again_to_what_was_declared_anew_is_kept(tmp_path: Path) -> None:
    """It is not taken for the one that went with the end before."""
    client = OwnBroker(tmp_path).client()
    client.ask(exchange("e1", durable=True))
    for _ in range(2):
        client.ask(delete("q1"))
        client.ask(queue("q1", durable=True))
        client.ask(bind("e1", "a"))
    assert OwnBroker(tmp_path).broker.vhost.exchanges["e1"].bindings


def test_a_queue_that_was_deleted_and_made_again_is_empty(tmp_path: Path) -> None:
    """The messages of the first are not those of the second; a purge stays one too."""
    client = OwnBroker(tmp_path).client()
    client.ask(queue(durable=True))
    fill(client, b"old")
    client.ask(delete())
    client.ask(queue(durable=True))
    client.ask(m.ConfirmSelect(False))
    fill(client, b"purged")
    client.ask(purge())
    client.publish(publish(), b"new", KEPT)
    assert bodies(OwnBroker(tmp_path).client()) == [(b"new", False)]


def test_time_goes_on_while_nothing_runs(tmp_path: Path) -> None:
    """A message that has expired by then is not there."""
    own = OwnBroker(tmp_path)
    client = own.client()
    client.ask(queue(durable=True))
    client.ask(m.ConfirmSelect(False))
    for body, expiration in ((b"soon", "5000"), (b"late", "50000")):
        client.publish(publish(), body, build_properties(expiration=expiration, mode=2))
    own.clock.advance(10)
    assert bodies(OwnBroker(tmp_path, own.clock).client()) == [(b"late", False)]


def fill_files(client: EngineClient, files: int) -> None:
    """As many files of messages, the last of them not full."""
    client.ask(queue(durable=True))
    for _ in range(files * FILE_BYTES // 1_000_000):
        client.publish(publish(), b"x" * 1_000_000, KEPT)


def test_a_file_goes_with_its_last_message(tmp_path: Path) -> None:
    """Whatever older files still hold."""
    client = OwnBroker(tmp_path).client()
    client.ask(queue("q2", durable=True))
    client.publish(publish("q2"), b"stays", KEPT)
    fill_files(client, 3)
    assert len(list(tmp_path.glob("*.messages.log"))) == 3
    client.ask(purge())
    assert len(list(tmp_path.glob("*.messages.log"))) == 2
    assert bodies(OwnBroker(tmp_path).client(), "q2") == [(b"stays", False)]


@pytest.mark.parametrize(
    "answer", [m.BasicAck(0, True), m.BasicNack(0, True, True), m.BasicNack(0, True, False)]
)
def test_what_is_out_of_a_deleted_queue_takes_no_space(tmp_path: Path, answer: m.Method) -> None:
    """However the consumer answers in the end."""
    client = OwnBroker(tmp_path).client()
    fill_files(client, 2)
    client.ask(consume())
    client.ask(delete())
    client.say(answer)
    assert len(list(tmp_path.glob("*.messages.log"))) == 1


def test_what_was_not_written_whole_is_cut_and_told(tmp_path: Path) -> None:
    """The messages before it come back."""
    client = OwnBroker(tmp_path).client()
    client.ask(queue(durable=True))
    fill(client, b"0", b"1")
    (file,) = tmp_path.glob("*.messages.log")
    file.write_bytes(file.read_bytes()[:-3])
    again = OwnBroker(tmp_path)
    assert [kind for kind, _ in again.host.reported] == ["journal.cut"]
    assert bodies(again.client()) == [(b"0", False)]


@pytest.fixture
def full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EngineClient:
    """A client with a durable queue, of a broker whose disk takes no more."""
    client = OwnBroker(tmp_path).client()
    client.ask(queue(durable=True))

    def refuse(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("emulator.journal.log.frames.write_all", refuse)
    return client


def test_a_full_disk_refuses_a_confirmed_publish_by_a_nack(full: EngineClient) -> None:
    """And takes the next when there is space."""
    full.ask(m.ConfirmSelect(False))
    assert full.publish(publish(), b"m", KEPT) == [m.BasicNack(1, True, True)]
    assert full.publish(publish(), b"passing") == [m.BasicAck(2, False)]
    full.give(3 * full.publishing(publish(), b"several", KEPT))
    assert full.take() == [m.BasicNack(5, True, True)]


def test_a_full_disk_says_so_where_there_is_no_nack(full: EngineClient) -> None:
    """The connection is closed with the reason."""
    (refused,) = full.publish(publish(), b"m", KEPT)
    assert refused.reply_code == 506
    assert "No space left on device" in refused.reply_text


def test_a_full_disk_refuses_a_declaration(full: EngineClient) -> None:
    """In the same way."""
    refused = full.ask(queue("q2", durable=True))
    assert (refused.reply_code, refused.class_id, refused.method_id) == (506, 50, 10)


def test_damage_is_not_passed_over(tmp_path: Path) -> None:
    """A start that cannot read what was acknowledged says so."""
    client = OwnBroker(tmp_path).client()
    client.ask(queue(durable=True))
    fill(client, b"0" * 100, b"1")
    (file,) = tmp_path.glob("*.messages.log")
    data = bytearray(file.read_bytes())
    data[60] ^= 1
    file.write_bytes(data)
    with pytest.raises(DamagedLogError):
        OwnBroker(tmp_path)


def test_messages_of_a_turn_share_a_flush(tmp_path: Path) -> None:
    """With fsync twenty publishes that come together wait for the disk once, and are confirmed then."""
    own = OwnBroker(tmp_path, fsync=True)
    client = own.client()
    client.ask(queue(durable=True))
    client.ask(m.ConfirmSelect(False))
    with patch.object(os, "fdatasync") as flush:
        client.give(b"".join(client.publishing(publish(), b"%d" % number, KEPT) for number in range(20)))
    confirm = client.take()[-1]
    assert (confirm.delivery_tag, confirm.multiple) == (20, True)
    assert flush.call_count == 1


class SlowDisk:
    """Flushes that are under way until they are ended."""

    def __init__(self) -> None:
        self.under_way: list[tuple[Callable[[], None], Future[None]]] = []

    def flush(self, work: Callable[[], None]) -> Future[None]:
        self.under_way.append((work, Future()))
        return self.under_way[-1][1]

    def end(self, own: OwnBroker, error: OSError | None = None) -> None:
        """End the flush under way, which there is one of when the last one let nobody else come."""
        while not self.under_way:
            own.broker.proceed()
        ((work, flushed),) = self.under_way
        self.under_way.clear()
        if error is None:
            work()
            flushed.set_result(None)
        else:
            flushed.set_exception(error)
        own.broker.proceed()


@pytest.fixture
def syncing(tmp_path: Path) -> Iterator[tuple[OwnBroker, SlowDisk, list[EngineClient]]]:
    """A broker with ``fsync`` on a slow disk, and two who publish with confirms."""
    own, disk = OwnBroker(tmp_path, fsync=True), SlowDisk()
    clients = [own.client(), own.client()]
    for each in clients:
        each.ask(queue(durable=True))
        each.ask(m.ConfirmSelect(False))
    with patch.object(own.host, "flush", disk.flush):
        yield own, disk, clients


def test_what_comes_during_a_flush_is_confirmed_behind_the_next(
    syncing: tuple[OwnBroker, SlowDisk, list[EngineClient]],
) -> None:
    """The broker takes it meanwhile, and begins no other flush."""
    own, disk, (first, second) = syncing
    assert first.publish(publish(), b"first", KEPT) == []
    assert second.publish(publish(), b"second", KEPT) == []
    assert first.publish(publish(), b"third", KEPT) == []
    disk.end(own)
    assert first.take() == [m.BasicAck(1, False)]
    assert second.take() == []
    disk.end(own)
    assert first.take() == [m.BasicAck(2, False)]
    assert second.take() == [m.BasicAck(1, False)]


def test_what_comes_during_a_flush_that_fails_is_not_confirmed(
    syncing: tuple[OwnBroker, SlowDisk, list[EngineClient]],
) -> None:
    """It is behind what may be lost, in the same file."""
    own, disk, (first, second) = syncing
    first.publish(publish(), b"first", KEPT)
    second.publish(publish(), b"second", KEPT)
    disk.end(own, OSError(errno.EIO, "Input/output error"))
    assert first.ended
    assert second.ended
    disk.end(own)
    assert first.take() + second.take() == []


def test_a_broker_that_closes_waits_for_the_flush_under_way(
    syncing: tuple[OwnBroker, SlowDisk, list[EngineClient]], tmp_path: Path
) -> None:
    """Who published is told before the connection ends."""
    own, disk, (first, _) = syncing
    first.publish(publish(), b"first", KEPT)
    ((work, flushed),) = disk.under_way
    work()
    flushed.set_result(None)
    own.broker.close()
    assert first.take()[0] == m.BasicAck(1, False)
    assert [body for body, _ in bodies(OwnBroker(tmp_path).client())] == [b"first"]


def test_a_message_that_is_not_on_the_disk_is_not_confirmed(tmp_path: Path) -> None:
    """The connection ends without a word; what comes next is in another file, and confirmed."""
    own = OwnBroker(tmp_path, fsync=True)
    client = own.client()
    client.ask(queue(durable=True))
    fill(client, b"before")
    with patch.object(os, "fdatasync", side_effect=OSError(errno.EIO, "Input/output error")):
        assert client.publish(publish(), b"lost", KEPT) == []
    assert client.ended
    # What was on its way meanwhile: a confirm of it would be one of what came before, too.
    assert client.publish(publish(), b"behind", KEPT) == []
    assert [kind for kind, _ in own.host.reported] == ["amqp.unwritten"]
    fill(own.client(), b"after")
    assert len(list(tmp_path.glob("*.messages.log"))) == 2
    assert [body for body, _ in bodies(OwnBroker(tmp_path).client())] == [b"before", b"lost", b"after"]
