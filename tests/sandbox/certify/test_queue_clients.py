"""Clients of RabbitMQ: what the recorder sees of them, and the clauses that only they have."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import Popen

import msgspec
import pytest
from pika import BasicProperties, BlockingConnection, URLParameters
from pika.adapters.blocking_connection import BlockingChannel
from pika.exceptions import AMQPError, ChannelClosedByBroker, NackError, UnroutableError

from emulator.clock import Clock
from rdss_sandbox.machine.watchdog import start_watchdog
from rdss_sandbox.shapes.certificate import ClauseVerdict
from rdss_sandbox.shapes.faults import NewFault
from rdss_sandbox.shapes.trace import Delivery, Disposition, Put, PutEntry, Read, Settlement, Subscription
from sandbox.certify import client_process
from sandbox.certify.certified_kinds import find_certified
from sandbox.certify.clause import Role
from sandbox.certify.clause_verdicts import judge_clauses
from sandbox.certify.clauses import clauses
from sandbox.certify.client_process import ClientProcess
from sandbox.certify.history import FinalShard, History, KeptRecord, Level, OfferedMessage, Statement
from sandbox.certify.queue_lab import QueueLab
from sandbox.certify.trial import play
from schemas.contract import Sample
from schemas.rdss.envelope import serialise
from schemas.rdss.peek import peek
from schemas.rdss.samples import Samples
from tests.sandbox.certify.trials import CLIENTS, python_trial
from tests.waiting import wait_until


@pytest.fixture
def lab() -> Iterator[QueueLab]:
    """A lab whose broker listens."""
    lab = QueueLab(1)
    with lab.running():
        yield lab


@pytest.fixture
def channel(lab: QueueLab) -> Iterator[BlockingChannel]:
    """A client's channel to it."""
    with BlockingConnection(URLParameters(lab.environment["SANDBOX_AMQP_URL"])) as connection:
        yield connection.channel()


def _message(seed: int = 1) -> bytes:
    return serialise(Samples(seed).message("MetadataCreate"))


def test_what_a_consumer_does_is_recorded(lab: QueueLab, channel: BlockingChannel) -> None:
    """Its limit, what it was given, how it settled that, what became a dead letter, and what was left."""
    channel.queue_declare("input", durable=True)
    channel.basic_qos(prefetch_count=2)
    message = _message()
    lab.put([Sample(message, "")])
    lab.put_poison(b"no message")
    lab.put([Sample(message, "")])
    given = channel.consume("input", inactivity_timeout=10)
    tags = [method.delivery_tag for method, _, _ in (next(given), next(given))]
    channel.basic_ack(tags[0])
    channel.basic_reject(tags[1], requeue=False)
    next(given)
    channel.connection.close()
    lab.settle_history()
    history = lab.history
    assert [each.prefetch for each in history.subscriptions()] == [2]
    assert [each.records[0].message_id for each in history.reads()] == [
        *(peek(message).message_id, None, peek(message).message_id)
    ]
    assert [(each.disposition, each.records[0].sequence_number) for each in history.settlements()] == [
        (Disposition.ACK, "1"),
        (Disposition.DISCARD, "2"),
    ]
    assert (history.poison, history.left) == (["2"], ["3"])


def test_poison_that_was_left_is_taken_away(lab: QueueLab, channel: BlockingChannel) -> None:
    """What a client has not settled would come again in later stages; what it has rejected does not."""
    assert not lab.keeps_poison()
    lab.put_poison(b"no message")
    lab.put_poison(b"nor this")
    method, _, _ = channel.basic_get("input")
    channel.basic_reject(method.delivery_tag, requeue=False)
    channel.connection.close()
    assert lab.wait(10, lambda: bool(lab.history.settlements()))
    assert lab.keeps_poison()
    lab.remove_poison()
    assert lab.history.taken_away == ["2"]
    assert not lab.keeps_poison()


def test_the_recorder_serves_rules_and_trace_at_once(lab: QueueLab, channel: BlockingChannel) -> None:
    """What the client does is judged by rules too; the kit, on its own connection, is no client."""
    lab.put([Sample(_message(), ""), Sample(_message(2), "")])
    channel.basic_qos(prefetch_count=2)
    given = channel.consume("input", inactivity_timeout=10)
    tags = [method.delivery_tag for method, _, _ in (next(given), next(given))]
    channel.basic_ack(tags[1], multiple=True)
    channel.connection.close()
    lab.settle_history()
    recorded, _ = lab._emulator.components.diagnosis.exchange()
    (reading,) = recorded.queue_readings
    assert (reading.delivered, reading.acked, reading.prefetch) == (2, 2, 2)
    assert recorded.queue_writings == ()
    assert [len(each.records) for each in lab.history.settlements()] == [2]


def test_what_is_fetched_is_no_consumers(lab: QueueLab, channel: BlockingChannel) -> None:
    """basic.get is in the trace with what it got, its acknowledgement, and the empty answer."""
    lab.put([Sample(_message(), "")])
    got, _, _ = channel.basic_get("input")
    channel.basic_ack(got.delivery_tag)
    assert channel.basic_get("input") == (None, None, None)
    recorded, _ = lab._emulator.components.diagnosis.exchange()
    assert recorded.queue_readings == ()
    assert [(len(each.records), each.pushed, each.owed) for each in lab.history.reads()] == [
        (1, False, True),
        (0, False, False),
    ]
    assert [len(each.records) for each in lab.history.settlements()] == [1]


def test_a_fetch_that_is_cut_off_is_a_failed_read(lab: QueueLab, channel: BlockingChannel) -> None:
    """A client that fetches is tried by cut connections as one that consumes is."""
    message = _message()
    match = {"match": {"messageId": peek(message).message_id}}
    lab.strike(NewFault("disconnect", channel="input", direction="deliver", when=match))
    lab.put([Sample(message, "")])
    with pytest.raises(AMQPError):
        channel.basic_get("input")
    assert lab.wait(10, lambda: [each.error for each in lab.history.reads()] == ["disconnect"])


def test_what_a_producer_does_is_recorded(lab: QueueLab, channel: BlockingChannel) -> None:
    """Each publish with the broker's answer, and with what the client asked for."""
    lossy, confirmed, nacked, returned = (_message(seed) for seed in range(4))
    channel.basic_publish("", "input", lossy)
    channel.confirm_delivery()
    channel.basic_publish("", "error", confirmed, BasicProperties(delivery_mode=2), mandatory=True)
    lab.strike(NewFault("partial_failure", channel="input", direction="publish"))
    with pytest.raises(NackError):
        channel.basic_publish("", "input", nacked)
    lab.end_faults()
    lab.strike(NewFault("error", channel="input", direction="publish", attributes={"code": "NO_ROUTE"}))
    channel.basic_publish("", "input", returned)
    with pytest.raises(UnroutableError):
        channel.basic_publish("", "input", returned, mandatory=True)
    lab.end_faults()
    lab.strike(NewFault("error", channel="input", direction="publish"))
    with pytest.raises(ChannelClosedByBroker):
        channel.basic_publish("", "input", returned)
    puts = [each for each in lab.history.exchanges if isinstance(each, Put)]
    assert [(each.stream, each.error, each.confirmed, each.persistent, each.mandatory) for each in puts] == [
        ("input", "", False, False, False),
        ("error", "", True, True, True),
        ("input", "nack", True, False, False),
        ("input", "", True, False, False),
        ("input", "returned", True, False, True),
        ("input", "541", True, False, False),
    ]
    assert lab.written("error") == [Sample(confirmed, "")]


def test_of_publishes_under_way_the_one_that_was_returned_is_noted(
    lab: QueueLab, channel: BlockingChannel
) -> None:
    """A broker confirms in any order, so that the oldest publish is not always the one that comes back."""
    first, second = (_message(seed) for seed in range(2))
    channel._impl.confirm_delivery(lambda _confirm: None, lambda _ok: None)
    struck = {"match": {"messageId": peek(second).message_id}}
    no_route = {"code": "NO_ROUTE"}
    lab.strike(NewFault("error", channel="input", direction="publish", attributes=no_route, when=struck))
    for message in (first, second):
        # Past the blocking channel, which waits for the confirm of each.
        channel._impl.basic_publish("", "input", message, mandatory=True)
    channel.connection.process_data_events(0)
    assert lab.wait(10, lambda: len(lab.history.puts()) == 2)
    assert {put.entries[0].message_id: put.error for put in lab.history.puts()} == {
        peek(first).message_id: "",
        peek(second).message_id: "returned",
    }


def test_what_is_written_is_heard_when_it_is_asked_for(tmp_path: Path) -> None:
    """A line that a client wrote before it did something is heard before that is noted."""
    heard: list[str] = []
    program = "import time; print('told', flush=True); open('done', 'w').close(); time.sleep(60)"
    process = ClientProcess((sys.executable, "-c", program), {}, tmp_path, heard.append)
    try:
        wait_until((tmp_path / "done").exists)
        process.listen()
        assert heard == ["told"]
    finally:
        process.kill()


# The clauses


def _history() -> History:
    """Twelve messages that were delivered, told, and acknowledged after that."""
    history = History("input", 0.0)
    ids = [f"m-{number}" for number in range(12)]
    history.sent = [OfferedMessage(each, "", Level.BRONZE, 0.0) for each in ids]
    history.stages = [(0.0, "duplicates", Level.BRONZE)]
    history.shards = [FinalShard("input", (), tuple((str(at), each) for at, each in enumerate(ids)))]
    history.exchanges = [Subscription(0.5, 0, "input", 10)]
    for at, each in enumerate(ids):
        came = (Delivery(str(at), each),)
        history.exchanges += [
            Read(1.0 + at, 0, "input", "input", "", came, pushed=True, owed=True),
            Settlement(1.5 + at, 0, "input", Disposition.ACK, came),
        ]
        history.told.append(Statement(each, 1.4 + at, 0))
    return history


def _judge(history: History, name: str, role: Role = Role.CONSUMER) -> tuple[ClauseVerdict, int, list[str]]:
    wanted = [each for each in clauses(role, channel="rabbitmq") if each.id == name]
    (result,), _ = judge_clauses(wanted, history, "again")
    return result.verdict, result.exposure, [each.said for each in result.evidence]


def _ack_early(history: History) -> None:
    history.told[3] = Statement("m-3", 99.0, 0)


def _never_tell(history: History) -> None:
    del history.told[3]


def _ask_for_no_acks(history: History) -> None:
    history.exchanges.append(Subscription(0.6, 0, "input", 0, no_ack=True))


def _leave_one(history: History) -> None:
    history.left.append("5")


def _take_all(history: History) -> None:
    history.exchanges.append(Subscription(0.6, 0, "input", 0))


@pytest.mark.parametrize(
    ("clause", "change", "said"),
    [
        ("acks-after-the-effect", _ack_early, "m-3 was acknowledged at 4.500 s and reported at 99.000 s"),
        ("acks-after-the-effect", _never_tell, "m-3 was acknowledged at 4.500 s and never reported"),
        ("acks-after-the-effect", _ask_for_no_acks, "automatic acknowledgement"),
        ("acks-all-that-it-processed", _leave_one, "m-5 was reported and not acknowledged"),
        ("limits-its-prefetch", _take_all, "without a prefetch limit at 0.60 s"),
    ],
)
def test_a_breach_is_told(clause: str, change: Callable[[History], None], said: str) -> None:
    """A right history passes, and one change makes it fail with a sentence about it."""
    history = _history()
    assert _judge(history, clause)[0] is ClauseVerdict.PASS
    change(history)
    verdict, _, sentences = _judge(history, clause)
    assert verdict is ClauseVerdict.FAIL
    assert len(sentences) == 1
    assert said in sentences[0]


@pytest.mark.parametrize(
    ("done", "said"),
    [
        ([Disposition.DISCARD], None),
        ([Disposition.REQUEUE] * 3 + [Disposition.DISCARD], None),
        ([Disposition.REQUEUE] * 4 + [Disposition.DISCARD], "poison p-1 was put back 4 times"),
        ([Disposition.ACK], "poison p-1 was acknowledged and put nowhere"),
        ([], "poison p-1 was neither rejected nor acknowledged"),
    ],
)
def test_poison_is_given_up(done: list[Disposition], said: str | None) -> None:
    """A few tries are allowed; an endless loop, and a loss without a trace, are not."""
    history = History("input", 0.0)
    for number in ("p-1", "p-2"):
        came = (Delivery(number, None),)
        history.poison.append(number)
        history.exchanges.append(Read(1.0, 0, "input", "input", "", came, pushed=True, owed=True))
        settled = done if number == "p-1" else [Disposition.DISCARD]
        history.exchanges += [Settlement(2.0, 0, "input", disposition, came) for disposition in settled]
    _, exposure, sentences = _judge(history, "dead-letters-poison")
    assert exposure == 2
    assert [each.startswith(said or "") for each in sentences] == ([True] if said else [])


def test_poison_may_be_put_on_another_queue() -> None:
    """A consumer that puts what it cannot read on the invalid queue, and acknowledges it, loses nothing."""
    history = History("input", 0.0, poison=["1", "2"])
    for number in ("1", "2"):
        came = (Delivery(number, None),)
        entry = PutEntry(None, "", 1, "invalid")
        history.exchanges += [
            Read(1.0, 0, "input", "input", "", came, pushed=True, owed=True),
            Put(1.1, 1.2, 0, "invalid", (entry,)),
            Settlement(1.3, 0, "input", Disposition.ACK, came),
        ]
    assert _judge(history, "dead-letters-poison") == (ClauseVerdict.PASS, 2, [])


def _published() -> History:
    """Twelve messages that were published, confirmed, and then told."""
    history = History("input", 0.0)
    for number in range(12):
        message_id = f"m-{number}"
        entry = PutEntry(message_id, "", 1, "input")
        history.exchanges.append(Put(1.0, 1.5, 0, "input", (entry,)))
        history.told.append(Statement(message_id, 2.0, 0))
        history.stored.append(KeptRecord(message_id, b""))
    return history


@pytest.mark.parametrize(
    ("clause", "changes", "said"),
    [
        ("tells-after-the-confirm", {"confirmed": False}, "m-0 was reported as sent without a confirm"),
        ("tells-after-the-confirm", {"error": "nack"}, "m-0 was reported as sent without a confirm"),
        ("tells-after-the-confirm", {"at": 3.0}, "reported as sent at 2.000 s, and confirmed at 3.000 s"),
        ("publishes-persistently", {"persistent": False}, "m-0 was published with a delivery mode other"),
        ("notices-returned-messages", {"mandatory": False}, "m-0 was confirmed at 1.50 s and is in no queue"),
    ],
)
def test_a_breach_of_a_producer_is_told(clause: str, changes: dict[str, object], said: str) -> None:
    """What the first of twelve messages does otherwise than the others is told in a sentence."""
    history = _published()
    history.exchanges[0] = msgspec.structs.replace(history.exchanges[0], **changes)
    if changes.get("mandatory") is False:
        del history.stored[0]
    assert _judge(_published(), clause, Role.PRODUCER)[2] == []
    verdict, _, sentences = _judge(history, clause, Role.PRODUCER)
    assert verdict is ClauseVerdict.FAIL
    assert len(sentences) == 1
    assert said in sentences[0]


@pytest.mark.timeout(60)
def test_a_client_that_is_quicker_than_its_start_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it tells counts as told before its ack, also where the kit is still busy with the start."""
    histories: list[History] = []
    clock = Clock()

    def start_slowly(group: int) -> Popen[bytes]:
        """Give the client time for its first ack, or for four seconds of waiting for it."""
        begun, acks = clock.elapsed(), len(histories[0].settlements())
        while len(histories[0].settlements()) == acks and clock.elapsed() < begun + 4:
            clock.wait(0.01)
        return start_watchdog(group)

    monkeypatch.setattr(client_process, "start_watchdog", start_slowly)
    trial = python_trial(Role.CONSUMER, CLIENTS / "fetching_queue_consumer.py", channel="rabbitmq")
    first, *others = find_certified("rabbitmq").stages[Role.CONSUMER]
    restart = next(each for each in others if each.name == "restart")
    history = play(trial, [first, restart], lambda _: None, histories.append)
    assert _judge(history, "acks-after-the-effect")[0] == "pass"
