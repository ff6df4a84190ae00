"""Each fault on each kind of channel where it means something."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from emulator.channels.channel import Channel, Delivery, PublishRefusedError, PublishUnknownError, Receipt
from emulator.channels.checkpoints import MemoryCheckpoints
from emulator.faults.fault import FaultRefusedError
from emulator.faults.registry import TYPES, list_own_types
from schemas.bound import CONTRACT
from schemas.rdss.error_codes import ErrorCode
from schemas.rdss.samples import Samples
from schemas.rdss.sequence import split
from schemas.rdss.validation import judge
from tests.contracts import KEYS, list_messages, spell
from tests.emulator.faults.unsupported import UNSUPPORTED
from tests.waiting import wait_until

if TYPE_CHECKING:
    from tests.emulator.faulted_brokers import AnyBroker

WAIT = 10.0


def read_all(channel: Channel, count: int) -> list[Delivery]:
    """At least ``count`` messages, and whatever else is there."""
    found: list[Delivery] = []
    while len(found) < count:
        more = channel.read(limit=1000, wait=WAIT)
        assert more, f"only {len(found)} of {count} messages came"
        found += more
    return found + channel.read(limit=1000)


def opened(broker: AnyBroker, **options: object) -> Channel:
    broker.create()
    return broker.open(MemoryCheckpoints(), **options)


def publish_until_taken(channel: Channel, data: bytes, tries: int = 10) -> list[str]:
    """What went wrong before the broker took the message."""
    failures = []
    for _ in range(tries):
        try:
            channel.publish(data, "k")
        except (PublishRefusedError, PublishUnknownError) as failure:
            failures.append(f"{type(failure).__name__} {failure.code}")
        else:
            return failures
    raise AssertionError(f"not taken in {tries} tries: {failures}")


def test_duplicate_on_publish_is_the_payload_again_with_a_new_number(broker: AnyBroker) -> None:
    """A producer's retry: two records, and the producer learns of the second, where it learns of a record.

    AMQP numbers nothing: there a copy has the message_id of its original.
    """
    sent = list_messages(broker.contract)
    channel = opened(broker)
    broker.fault("duplicate")
    receipt = channel.publish(sent[0], "k")
    first, second = read_all(channel, 2)
    assert first.data == second.data == sent[0]
    assert second.sequence_number == receipt.sequence_number or not receipt.sequence_number
    assert (first.sequence_number == second.sequence_number) is broker.on_the_wire
    assert not second.redelivered


def test_duplicate_on_deliver_is_the_record_again_with_the_same_number(broker: AnyBroker) -> None:
    """A redelivery, two records later: one record, delivered twice."""
    sent = list_messages(broker.contract)
    channel = opened(broker)
    broker.fault("duplicate", direction="deliver", attributes={"distance": 2}, limit=1)
    channel.publish_many([(data, "k") for data in sent[:5]])
    came = read_all(channel, 6)
    order = [sent.index(delivery.data) for delivery in came]
    # A broker may give them one by one: behind the last that has come, the duplicate waits for no other.
    assert broker.jumps or broker.kind == "rabbitmq" or order == [0, 1, 2, 0, 3, 4]
    assert sorted(order) == [0, 0, 1, 2, 3, 4]
    first, again = (at for at, index in enumerate(order) if index == 0)
    assert came[again].sequence_number == came[first].sequence_number
    assert [at for at, delivery in enumerate(came) if delivery.redelivered] == [again]


def test_latency_on_a_publish_is_waited_for(broker: AnyBroker) -> None:
    """On the clock: 90 s pass."""
    sent = list_messages(broker.contract)
    channel = opened(broker)
    broker.fault("latency", attributes={"delay": "90s", "most": 100})
    broker.hurry()
    before = broker.clock.elapsed()
    channel.publish(sent[0], "k")
    assert 90 <= broker.clock.elapsed() - before < 90 + broker.leeway


def test_latency_on_a_read_is_waited_for(broker: AnyBroker) -> None:
    """On the clock: 30 s pass."""
    sent = list_messages(broker.contract)
    channel = opened(broker)
    broker.fault("latency", direction="deliver", attributes={"delay": "30s"})
    broker.hurry()
    channel.publish(sent[0], "k")
    before = broker.clock.elapsed()
    channel.read(limit=10, wait=WAIT if broker.kind in {"rabbitmq", "topic"} else 0)
    assert 30 <= broker.clock.elapsed() - before < 30 + broker.leeway


def test_latency_on_a_record_hides_it_and_those_behind_it(broker: AnyBroker) -> None:
    """Until the clock has passed its time; order in the shard is kept."""
    sent = list_messages(broker.contract)
    channel = opened(broker)
    broker.fault("latency", direction="deliver", limit=1, attributes={"on": "record", "delay": "50s"})
    channel.publish_many([(data, "k") for data in sent[:3]])
    # A relay that waits moves this clock by itself.
    assert broker.jumps or channel.read(wait=0.3) == []
    broker.clock.advance(60)
    assert [sent.index(d.data) for d in read_all(channel, 3)] == [0, 1, 2]


def test_oversize_grows_a_message_that_is_valid_otherwise(broker: AnyBroker) -> None:
    """Past the largest size and within what Kinesis takes: it arrives, and only its size is wrong."""
    sent = list_messages(broker.contract)
    channel = opened(broker)
    broker.fault("oversize", limit=1)
    channel.publish_many([(data, "k") for data in sent[:2]])
    came = read_all(channel, 2)
    assert broker.contract.max_bytes < len(came[0].data) <= 1_048_000
    assert came[1].data == sent[1]
    grown, contract = came[0], broker.contract
    assert contract.peek(grown.data, grown.key).message_id == KEYS[sent[0]]
    assert contract.judge(grown.data).code == contract.oversize


def test_oversize_past_the_record_limit_is_refused_by_kinesis(stream_broker: AnyBroker) -> None:
    """The producer learns that its message is too large."""
    sent = list_messages(stream_broker.contract)
    channel = opened(stream_broker)
    stream_broker.fault("oversize", attributes={"limit": 1_048_576})
    with pytest.raises(PublishRefusedError) as refused:
        channel.publish(sent[0], "k")
    assert refused.value.code == "ValidationException"


@pytest.mark.parametrize("action", ["split", "merge", "scale"])
def test_reshard_changes_the_shards_and_loses_nothing(stream_broker: AnyBroker, action: str) -> None:
    """At the tenth message, under load."""
    sent = list_messages(stream_broker.contract)
    broker = stream_broker
    broker.create(shards=2)
    channel = broker.open(MemoryCheckpoints())
    broker.fault(
        "reshard", attributes={"action": action, "count": 3}, when={"every": 10}, limit=1, channel=broker.name
    )
    for number, data in enumerate(sent[:15]):
        channel.publish(data, f"{number}")
    still_open = [s for s in broker.shards() if "EndingSequenceNumber" not in s["SequenceNumberRange"]]
    assert len(still_open) == {"split": 3, "merge": 1, "scale": 3}[action]
    assert sorted(d.data for d in read_all(channel, 15)) == sorted(sent[:15])
    (event,) = broker.injections()
    assert event.fields["message_id"] == KEYS[sent[9]]
    assert event.fields["data"]["action"] == action


def test_reshard_without_conditions_happens_at_its_time(stream_broker: AnyBroker) -> None:
    """Nobody needs to send anything for it."""
    broker = stream_broker
    broker.create()
    broker.hurry()
    broker.fault("reshard", attributes={"hash_key": "12345"}, when={"at": "5s"}, channel=broker.name)
    wait_until(lambda: len(broker.shards()) > 1)
    (left, right) = broker.shards()[1:]
    assert left["HashKeyRange"]["EndingHashKey"] == "12344"
    assert right["HashKeyRange"]["StartingHashKey"] == "12345"


def test_reshard_that_cannot_be_done_is_told_of(stream_broker: AnyBroker) -> None:
    """One shard has no neighbour to merge with: an event says so, and the message goes on."""
    sent = list_messages(stream_broker.contract)
    channel = opened(stream_broker)
    fault = stream_broker.fault("reshard", attributes={"action": "merge"}, when={"first": 1})
    channel.publish(sent[0], "k")
    assert stream_broker.injections() == []
    (failed,) = stream_broker.failures()
    assert "no two adjacent open shards" in failed.fields["why"]
    assert stream_broker.injected(fault) == 0


def test_reorder_lets_later_messages_go_first(broker: AnyBroker) -> None:
    """The second message is delivered behind the fourth."""
    sent = list_messages(broker.contract)
    channel = opened(broker)
    match = {spell(broker.contract, "id"): KEYS[sent[1]]}
    broker.fault("reorder", attributes={"distance": 2}, when={"match": match})
    channel.publish_many([(data, "k") for data in sent[:5]])
    order = [sent.index(d.data) for d in read_all(channel, 5)]
    assert broker.jumps or order == [0, 2, 3, 1, 4]
    assert sorted(order) == [0, 1, 2, 3, 4]
    assert len(broker.injections()) == 1


def test_reorder_does_not_hold_the_last_message_for_ever(broker: AnyBroker) -> None:
    """When nothing comes to overtake it, it is delivered after a second."""
    sent = list_messages(broker.contract)
    channel = opened(broker)
    broker.fault("reorder", attributes={"distance": 3})
    channel.publish(sent[0], "k")
    assert broker.jumps or channel.read(wait=0.3) == [] or broker.kind != "rabbitmq"
    broker.clock.advance(2)
    assert broker.kind != "rabbitmq" or [d.data for d in read_all(channel, 1)] == [sent[0]]


def test_throttle_refuses_until_it_has_failed_often_enough(broker: AnyBroker) -> None:
    """``fails: 2``: the third try succeeds; the message is there once. Over AMQP the publisher waits."""
    sent = list_messages(broker.contract)
    channel = opened(broker, attempts=1)
    broker.fault("throttle", when={"fails": 2})
    refused = "PublishRefusedError ProvisionedThroughputExceededException"
    assert publish_until_taken(channel, sent[0]) == ([] if broker.on_the_wire else [refused, refused])
    assert len(broker.injections()) == 2
    assert [d.data for d in read_all(channel, 1)] == [sent[0]]


def test_throttle_on_deliver_only_delays(broker: AnyBroker) -> None:
    """The reader tries again and misses nothing."""
    sent = list_messages(broker.contract)
    channel = opened(broker)
    broker.fault("throttle", direction="deliver", when={"fails": 1})
    channel.publish_many([(data, "k") for data in sent[:5]])
    assert [d.data for d in read_all(channel, 5)] == sent[:5]
    assert len(broker.injections()) == 5


def test_partial_failure_fails_the_chosen_entries_of_a_batch(broker: AnyBroker) -> None:
    """The others are in the channel; each entry says what became of it."""
    sent = list_messages(broker.contract)
    channel = opened(broker, attempts=1)
    broker.fault("partial_failure", when={"every": 3}, attributes={"code": "InternalFailure"})
    outcomes = channel.publish_many([(data, "k") for data in sent[:10]])
    failed = [at for at, outcome in enumerate(outcomes) if not isinstance(outcome, Receipt)]
    assert failed == [2, 5, 8]
    code = "Nack" if broker.on_the_wire else "InternalFailure"
    assert {outcome.code for outcome in outcomes if isinstance(outcome, PublishRefusedError)} == {code}
    came = read_all(channel, 7)
    assert [sent.index(d.data) for d in came] == [0, 1, 3, 4, 6, 7, 9]


def test_partial_failure_spares_a_message_put_alone(broker: AnyBroker) -> None:
    """There is no part of one; over AMQP none is known to be alone that is confirmed."""
    sent = list_messages(broker.contract)
    channel = opened(broker)
    broker.fault("partial_failure")
    if broker.on_the_wire:
        with pytest.raises(PublishRefusedError):
            channel.publish(sent[0], "k")
        return
    assert publish_until_taken(channel, sent[0]) == []
    assert broker.injections() == []


@pytest.mark.parametrize(("status", "answer"), [(400, "PublishRefusedError"), (503, "PublishUnknownError")])
def test_error_fails_a_call_as_told(broker: AnyBroker, status: int, answer: str) -> None:
    """Below 500 the producer knows that the message was not taken; from 500 it cannot know."""
    sent = list_messages(broker.contract)
    channel = opened(broker, attempts=1)
    broker.fault("error", attributes={"code": "Odd", "status": status}, when={"fails": 1})
    code = {400: "Nack", 503: "ChannelClosedByBroker"}[status] if broker.on_the_wire else "Odd"
    assert publish_until_taken(channel, sent[0]) == [f"{answer} {code}"]
    assert [d.data for d in read_all(channel, 1)] == [sent[0]]


@pytest.mark.parametrize("type_", ["error", "disconnect"])
def test_a_call_that_fails_after_it_took_effect_leaves_the_message_there(
    broker: AnyBroker, type_: str
) -> None:
    """The producer that tries again makes a duplicate: both are in the channel."""
    sent = list_messages(broker.contract)
    channel = opened(broker, attempts=1)
    broker.fault(type_, attributes={"written": True}, when={"fails": 1})
    with pytest.raises(PublishUnknownError):
        channel.publish(sent[0], "k")
    channel.publish(sent[0], "k")
    assert [d.data for d in read_all(channel, 2)] == [sent[0]] * 2


def test_error_on_deliver_leaves_the_message_for_the_next_read(broker: AnyBroker) -> None:
    """A read that fails loses nothing."""
    sent = list_messages(broker.contract)
    channel = opened(broker)
    broker.fault("error", direction="deliver", when={"fails": 1}, attributes={"status": 400, "code": "Odd"})
    channel.publish(sent[0], "k")
    assert [d.data for d in read_despite_failures(channel)] == [sent[0]]
    assert len(broker.injections()) == 1


def read_despite_failures(channel: Channel) -> list[Delivery]:
    from emulator.channels.channel import ChannelUnavailableError

    for _ in range(100):
        try:
            if found := channel.read(limit=10, wait=0.1):
                return found
        except ChannelUnavailableError:
            continue
    raise AssertionError("nothing came")


def test_disconnect_leaves_the_publisher_in_doubt(broker: AnyBroker) -> None:
    """The connection is gone before an answer; the next try gets a new one."""
    sent = list_messages(broker.contract)
    channel = opened(broker, attempts=1)
    broker.fault("disconnect", when={"fails": 1})
    (failure,) = publish_until_taken(channel, sent[0])
    assert failure.startswith("PublishUnknown")
    assert [d.data for d in read_all(channel, 1)] == [sent[0]]


def test_disconnect_on_deliver_brings_the_message_again(broker: AnyBroker) -> None:
    """Nothing was acknowledged on the connection that is gone."""
    sent = list_messages(broker.contract)
    channel = opened(broker)
    broker.fault("disconnect", direction="deliver", when={"fails": 1})
    channel.publish(sent[0], "k")
    assert [d.data for d in read_despite_failures(channel)] == [sent[0]]


def test_expire_iterator_only_delays(broker: AnyBroker) -> None:
    """Where there are iterators, a reader takes a new one and misses nothing; elsewhere it is refused."""
    sent = list_messages(broker.contract)
    channel = opened(broker)
    broker.meet(channel)
    if broker.kind != "kinesis":
        with pytest.raises(FaultRefusedError, match="expire_iterator means nothing"):
            broker.fault("expire_iterator", channel=broker.name)
        return
    broker.fault("expire_iterator", when={"fails": 1})
    channel.publish_many([(data, "k") for data in sent[:5]])
    assert [d.data for d in read_despite_failures(channel)] == sent[:5]
    assert len(broker.injections()) == 5


def test_stale_read_finds_nothing_at_first(stream_broker: AnyBroker) -> None:
    """And everything at the next read."""
    sent = list_messages(stream_broker.contract)
    channel = opened(stream_broker)
    stream_broker.fault("stale_read", when={"fails": 1})
    channel.publish(sent[0], "k")
    assert channel.read() == []
    assert [d.data for d in channel.read()] == [sent[0]]


@pytest.mark.parametrize("how", ["flip", "truncate"])
@pytest.mark.parametrize("direction", ["publish", "deliver"])
def test_corrupt_damages_the_bytes(broker: AnyBroker, how: str, direction: str) -> None:
    """On the way in for good, on the way out for this delivery."""
    sent = list_messages(broker.contract)
    channel = opened(broker)
    broker.fault("corrupt", direction=direction, attributes={"how": how, "bytes": 3})
    channel.publish(sent[0], "k")
    (delivery,) = read_all(channel, 1)
    assert delivery.data != sent[0]
    if how == "flip":
        assert sum(a != b for a, b in zip(delivery.data, sent[0], strict=True)) == 3
    else:
        assert sent[0].startswith(delivery.data)


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.GENERR001,
        ErrorCode.GENERR002,
        ErrorCode.GENERR003,
        ErrorCode.GENERR004,
        ErrorCode.GENERR007,
        ErrorCode.GENERR010,
    ],
)
def test_mutate_makes_a_message_bad_in_the_way_of_its_code(broker: AnyBroker, code: ErrorCode) -> None:
    """And in no other: the receiver's judgement is that code."""
    sent = list_messages(broker.contract)
    channel = opened(broker)
    broker.fault("mutate", attributes={"code": code.value})
    channel.publish(sent[0], "k")
    (delivery,) = read_all(channel, 1)
    assert judge(delivery.data, now=broker.clock.time()).code is code


@pytest.mark.parametrize(
    ("type_", "acts"),
    [
        pytest.param("pause", ["pause", "resume"], id="pause"),
        pytest.param("kill", ["kill"], id="kill"),
        pytest.param("isolate", ["disconnect", "reconnect"], id="isolate"),
    ],
)
def test_what_strikes_a_target_does_so_at_a_message(broker: AnyBroker, type_: str, acts: list[str]) -> None:
    """At the third message, whatever it goes through, and once; what lasts is over when the clock says so."""
    sent = list_messages(broker.contract)
    channel = opened(broker)
    with broker.target() as target:
        broker.fault(type_, attributes={"target": target}, when={"after": 2, "first": 1})
        for data in sent[:5]:
            channel.publish(data, "k")
        (event,) = broker.injections()
        assert broker.struck(1)[:1] == acts[:1]
        broker.clock.advance(60)
        assert broker.struck(len(acts)) == acts
    assert event.fields["message_id"] == KEYS[sent[2]]


def test_a_fault_that_means_nothing_there_is_refused(broker: AnyBroker) -> None:
    """When it is added, with the kinds that it is for; it could only disappoint later."""
    broker.meet(opened(broker))
    for type_ in TYPES.values():
        means_something = not type_.kinds or broker.kind in type_.kinds
        if not means_something:
            with pytest.raises(FaultRefusedError, match=f"{type_.name} means nothing on .*{broker.kind}"):
                broker.fault(type_.name, channel=broker.name)
            with pytest.raises(FaultRefusedError, match=f"{type_.name} means nothing"):
                broker.fault(type_.name, channel=f"{broker.kind}:*")


def test_fragments_of_a_sequence_keep_their_bytes(broker: AnyBroker) -> None:
    """A fragment's body is a piece of another's JSON: oversize and mutate leave it alone."""
    channel = opened(broker)
    parts = split(Samples(5).big_message(2), new_id=iter(f"{n}" for n in range(9)).__next__)
    broker.fault("oversize")
    broker.fault("mutate")
    channel.publish_many([(part, "k") for part in parts])
    assert [d.data for d in read_all(channel, 2)] == parts
    assert broker.injections() == []


def test_every_fault_is_in_this_suite() -> None:
    """A type that is registered is tried here, by its name, on every kind of channel."""
    text = Path(__file__).read_text(encoding="utf-8")
    assert [each.name for each in list_own_types(CONTRACT) if f'"{each.name}"' not in text] == []


def test_what_an_adaptor_does_not_support_is_a_case_of_this_suite() -> None:
    """The table of exceptions names tests that are here, and gives a reason for each."""
    text = Path(__file__).read_text(encoding="utf-8")
    for cases in UNSUPPORTED.values():
        for case, reason in cases.items():
            assert f"def {case.partition('[')[0]}(" in text
            assert reason
