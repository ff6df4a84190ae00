"""Each mistake of a reader, made by real boto3 on the wire, is found with its evidence."""

from __future__ import annotations

import json

import pytest
from botocore.exceptions import ClientError

from tests.emulator.diagnosis.diagnosed_stream import FIRST, LEFT, RIGHT, Wire


def test_child_shards_that_nobody_reads(wire: Wire) -> None:
    """Both are named with their records; 30 seconds are given to find them."""
    reader = wire.client("reader")
    iterator = wire.iterator(reader)
    wire.put(3)
    wire.split()
    wire.put(20)
    assert wire.read(reader, iterator, 1) == ""
    assert wire.rules() == []
    later = wire.control.diagnosis(stream=wire.stream, later=31).findings
    assert [each.rule for each in later] == ["unread-child"] * 2

    wire.clock.advance(31)
    found = wire.findings()
    assert [(each.rule, each.shard) for each in found] == [("unread-child", LEFT), ("unread-child", RIGHT)]
    assert sum(each.evidence["records"] for each in found) == 20
    assert all(each.client == f"reader-{wire.stream} ({_sdk()})" for each in found)
    assert "TRIM_HORIZON" in found[0].advice
    assert [step.said for step in found[0].steps][-1].endswith(f"{FIRST} ends")


def _sdk() -> str:
    import boto3

    return f"Boto3/{boto3.__version__}"


def test_a_shard_that_is_never_asked_for(wire: Wire) -> None:
    """The first shard alone is read, as tutorials do; a minute is given to ask for the other."""
    wire.producer.delete_stream(StreamName=wire.stream)
    wire.create(shards=2)
    wire.put(30)
    reader = wire.client("reader")
    wire.read(reader, wire.iterator(reader), 5)
    assert wire.rules() == []
    wire.clock.advance(61)
    found = wire.find("unread-shard")
    assert (found.shard, found.evidence["shards"]) == (LEFT, [FIRST])
    assert found.evidence["records"] > 0
    assert wire.rules() == ["unread-shard"]

    wire.read(reader, wire.iterator(reader, LEFT))
    assert wire.rules() == []


def test_a_child_that_is_never_asked_for_beside_its_sibling(wire: Wire) -> None:
    """A consumer that begins after the split reads one child, and neither the other nor their parent."""
    wire.put(3)
    wire.split()
    wire.put(20)
    reader = wire.client("reader")
    wire.read(reader, wire.iterator(reader, RIGHT), 5)
    wire.clock.advance(61)
    assert [(each.rule, each.shard) for each in wire.findings()] == [
        ("unread-shard", FIRST),
        ("unread-shard", LEFT),
    ]


def test_records_before_the_first_latest(wire: Wire) -> None:
    wire.put(4)
    reader = wire.client("reader")
    wire.read(reader, wire.iterator(reader, start="LATEST"))
    found = wire.find("skipped-at-start")
    assert (found.shard, found.evidence["skipped"]) == (FIRST, 4)
    assert wire.rules() == ["skipped-at-start"]


def test_a_child_that_is_begun_at_latest(wire: Wire) -> None:
    """The story tells that its parent was read to the end."""
    reader = wire.client("reader")
    iterator = wire.iterator(reader)
    wire.put(1)
    wire.split()
    wire.put(20)
    wire.read(reader, iterator)
    for child in (LEFT, RIGHT):
        wire.read(reader, wire.iterator(reader, child, "LATEST"))
    found = [each for each in wire.findings() if each.rule == "skipped-at-start"]
    assert {each.shard for each in found} == {LEFT, RIGHT}
    assert sum(each.evidence["skipped"] for each in found) == 20
    assert found[0].steps[0].said == f"{FIRST} ended"
    assert f"the child of {FIRST}" in found[0].said


def test_a_restart_at_latest_loses_what_came_meanwhile(wire: Wire) -> None:
    reader = wire.client("reader")
    wire.put(2)
    wire.read(reader, wire.iterator(reader))
    wire.put(3)
    wire.read(reader, wire.iterator(reader, start="LATEST"))
    wire.clock.advance(6)
    found = wire.find("skipped-at-restart")
    assert (found.evidence["skipped"], found.evidence["read_up_to"]) == (3, 2)
    assert wire.rules() == ["skipped-at-restart"]


def test_expired_then_latest_then_lost_is_one_story(wire: Wire) -> None:
    """The fault that expired the iterator is named, and the client's reaction is judged."""
    reader = wire.client("reader")
    wire.put(2)
    iterator = wire.read(reader, wire.iterator(reader))
    fault = wire.fault("expire_iterator", direction="deliver", limit=1)
    wire.put(3)
    with pytest.raises(ClientError, match="ExpiredIterator"):
        wire.read(reader, iterator)
    wire.read(reader, wire.iterator(reader, start="LATEST"))
    wire.clock.advance(40)
    (found,) = wire.findings()
    assert (found.rule, found.faults, found.evidence["skipped"]) == ("skipped-at-restart", (fault,), 3)
    told = [step.said for step in found.steps]
    assert f"by the fault {fault}" in told[0]
    assert "LATEST" in told[1]
    assert "3 records lost" in told[2]


@pytest.mark.parametrize(
    ("start", "rule"), [("LATEST", "skipped-at-restart"), ("TRIM_HORIZON", "read-again")]
)
def test_an_iterator_used_again_and_then_replaced_wrongly_is_one_story(
    wire: Wire, start: str, rule: str
) -> None:
    """It expired, was used three times more, and what came then lost or repeated records: one finding."""
    reader = wire.client("reader")
    wire.put(2)
    iterator = wire.read(reader, wire.iterator(reader), 2)
    wire.clock.advance(3)
    iterator = wire.read(reader, iterator)
    wire.clock.advance(301)
    wire.put(3)
    for _ in range(4):
        with pytest.raises(ClientError, match="ExpiredIterator"):
            wire.read(reader, iterator)
    wire.read(reader, wire.iterator(reader, start=start))
    wire.clock.advance(40)
    (found,) = wire.findings()
    assert found.rule == rule
    assert "expired" in found.steps[0].said
    verdicts = {each.rule: each.verdict for each in wire.control.diagnosis(stream=wire.stream).rules}
    assert verdicts[rule] == "found"


def test_an_expired_iterator_that_is_used_again_and_again(wire: Wire) -> None:
    reader = wire.client("reader")
    iterator = wire.iterator(reader)
    wire.clock.advance(301)
    for _ in range(4):
        with pytest.raises(ClientError, match="ExpiredIterator"):
            wire.read(reader, iterator)
    found = wire.find("expired-iterator")
    assert (found.evidence["again"], found.faults) == (3, ())


def test_an_expired_iterator_after_which_nobody_reads(wire: Wire) -> None:
    reader = wire.client("reader")
    iterator = wire.iterator(reader)
    wire.put(2)
    wire.clock.advance(301)
    with pytest.raises(ClientError, match="ExpiredIterator"):
        wire.read(reader, iterator)
    assert wire.rules() == []
    wire.clock.advance(31)
    assert "2 records wait" in wire.find("expired-iterator").said


def test_a_restart_without_a_checkpoint_reads_again(wire: Wire) -> None:
    reader = wire.client("reader")
    wire.put(5)
    iterator = wire.read(reader, wire.iterator(reader), 2)
    wire.clock.advance(3)
    wire.read(reader, iterator)
    wire.read(reader, wire.iterator(reader))
    wire.clock.advance(6)
    found = wire.find("read-again")
    assert (found.evidence["again"], found.evidence["start"]) == (5, "TRIM_HORIZON")
    assert wire.rules() == ["read-again"]


def test_a_child_that_is_read_before_its_parent_is_drained(wire: Wire) -> None:
    reader = wire.client("reader")
    wire.put(3)
    wire.split()
    wire.put(20)
    parent = wire.iterator(reader)
    wire.read(reader, wire.iterator(reader, LEFT))
    wire.read(reader, wire.iterator(reader, RIGHT))
    wire.read(reader, parent)
    found = [each for each in wire.findings() if each.rule == "child-before-parent"]
    assert {(each.shard, each.evidence["parent"]) for each in found} == {(LEFT, FIRST), (RIGHT, FIRST)}
    assert set(wire.rules()) == {"child-before-parent"}


def test_a_loop_that_reads_without_a_pause(wire: Wire) -> None:
    reader = wire.client("reader")
    wire.read(reader, wire.iterator(reader), 25)
    found = wire.find("reads-too-often")
    assert found.evidence["reads"] == 13
    assert found.evidence["seconds"] < 3


def test_a_saved_exchange_gives_the_same_diagnosis(wire: Wire) -> None:
    """The rules are functions of the exchange alone, so one that was kept as JSON is judged alike."""
    import msgspec

    from emulator.diagnosis.diagnosis import diagnose
    from rdss_sandbox.shapes.recorded_exchange import Exchange

    wire.put(4)
    reader = wire.client("reader")
    wire.read(reader, wire.iterator(reader, start="LATEST"))
    live = wire.findings()
    kept = msgspec.json.decode(
        json.dumps(msgspec.to_builtins(wire.control.recorded_exchange())), type=Exchange
    )
    assert [each for each in diagnose(kept).findings if each.stream == wire.stream] == live
