"""Clients of an upstream are diagnosed by what passes the sandbox: its iterators and numbers are opaque."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from statistics import median
from time import process_time
from typing import Any

import pytest
from botocore.config import Config
from botocore.exceptions import ClientError
from hypothesis import given
from hypothesis import strategies as st

from emulator.assembly.embedded import Embedded
from emulator.clock import Clock
from emulator.diagnosis.upstream_places import UpstreamPlaces
from emulator.kinesis import iterators
from rdss_sandbox.client import Client
from rdss_sandbox.shapes.diagnosis import Diagnosis
from rdss_sandbox.shapes.faults import NewFault
from rdss_sandbox.shapes.recorded_exchange import Reading, ShardReads
from rdss_sandbox.shapes.topology import Topology
from tests.emulator.relay.aws.test_relay import relaying

_LATER = 400.0
"""More than any rule waits."""


class Wire:
    """A stream of the upstream's, what puts there past the sandbox, and clients that go through it."""

    def __init__(self, relay: Embedded, control: Client, client: Callable[..., Any], upstream: str) -> None:
        self.control = control
        self._client = client
        self._relay = relay
        self.producer = self.client("producer")
        self.beside = client("kinesis", upstream)
        self.shard: str = self.producer.list_shards(StreamName="input")["Shards"][0]["ShardId"]

    def client(self, key: str, **more: Any) -> Any:
        config = Config(retries={"total_max_attempts": 1})
        return self._client("kinesis", self._relay.aws, aws_access_key_id=key, config=config, **more)

    def put(self, count: int, by: Any = None) -> list[str]:
        """Put so many records with keys of their own; return their sequence numbers."""
        return [
            (by or self.producer).put_record(
                StreamName="input", Data=b"data %d" % number, PartitionKey=f"key {number}"
            )["SequenceNumber"]
            for number in range(count)
        ]

    def iterator(self, by: Any, start: str, shard: str = "", **more: str) -> str:
        found: str = by.get_shard_iterator(
            StreamName="input", ShardId=shard or self.shard, ShardIteratorType=start, **more
        )["ShardIterator"]
        return found

    def read(self, by: Any, iterator: str) -> tuple[list[str], str]:
        answer = by.get_records(ShardIterator=iterator)
        numbers = [each["SequenceNumber"] for each in answer["Records"]]
        return numbers, answer.get("NextShardIterator", "")

    def split(self) -> list[str]:
        """Split the shard, and return the children."""
        self.producer.split_shard(StreamName="input", ShardToSplit=self.shard, NewStartingHashKey=str(2**127))
        shards = self.producer.list_shards(StreamName="input")["Shards"]
        return [each["ShardId"] for each in shards if each.get("ParentShardId") == self.shard]

    def diagnose(self, later: float = _LATER) -> Diagnosis:
        return self.control.diagnosis(stream="input", later=later)

    def rules(self) -> list[str]:
        return [each.rule for each in self.diagnose().findings]


@pytest.fixture
def wire(upstream: str, client: Callable[..., Any]) -> Iterator[Wire]:
    with relaying(upstream, Topology({"input": 1})) as relay, Client(relay.control) as control:
        yield Wire(relay, control, client, upstream)


def test_records_before_latest_are_skipped(wire: Wire) -> None:
    """Who reads them is named by its access key, and who puts them too; it is said that not all is seen."""
    wire.put(4)
    reader = wire.client("reader")
    wire.read(reader, wire.iterator(reader, "LATEST"))
    found = wire.diagnose()
    assert [(each.rule, each.evidence["skipped"]) for each in found.findings] == [("skipped-at-start", 4)]
    assert found.known is False
    assert {"producer", "reader"} <= {each.access_key for each in found.clients}


def test_a_restart_at_latest_loses_what_came_meanwhile(wire: Wire) -> None:
    wire.put(2)
    reader = wire.client("reader")
    numbers, _ = wire.read(reader, wire.iterator(reader, "TRIM_HORIZON"))
    assert len(numbers) == 2
    wire.put(3)
    wire.read(reader, wire.iterator(reader, "LATEST"))
    (found,) = wire.diagnose().findings
    assert (found.rule, found.evidence["skipped"], found.evidence["read_up_to"]) == (
        "skipped-at-restart",
        3,
        2,
    )


def test_a_restart_after_the_checkpoint_is_right(wire: Wire) -> None:
    """Records that somebody put past the sandbox are counted as they are read, in their place."""
    wire.put(2)
    wire.put(2, wire.beside)
    reader, late = wire.client("reader"), wire.client("late")
    numbers, following = wire.read(reader, wire.iterator(reader, "TRIM_HORIZON"))
    assert len(numbers) == 4
    wire.put(3)
    again, _ = wire.read(
        reader, wire.iterator(reader, "AFTER_SEQUENCE_NUMBER", StartingSequenceNumber=numbers[-1])
    )
    assert len(again) == 3
    assert len(wire.read(late, wire.iterator(late, "TRIM_HORIZON"))[0]) == 7
    assert len(wire.read(reader, following)[0]) == 3
    assert wire.rules() == []
    (shard,) = (each for each in wire.control.recorded_exchange().streams[0].shards)
    assert (shard.first, shard.next) == (1, 8)


@pytest.mark.parametrize("upstream", ["engine"], indirect=True)  # a closed shard of moto's never ends
def test_children_that_nobody_reads(wire: Wire) -> None:
    """A consumer that reads them has no finding; one that stops at the parent's end has one for each."""
    wire.put(3)
    first, careful = wire.client("first"), wire.client("careful")
    held = {each: wire.iterator(each, "TRIM_HORIZON") for each in (first, careful)}
    children = wire.split()
    wire.put(20)
    for each, iterator in held.items():
        following = iterator
        while following:
            _, following = wire.read(each, following)
    for child in children:
        wire.read(careful, wire.iterator(careful, "TRIM_HORIZON", child))
    found = wire.diagnose().findings
    assert [(each.rule, each.shard) for each in found] == [("unread-child", each) for each in children]
    assert sum(each.evidence["records"] for each in found) == 20
    assert {each.client is not None and each.client.startswith("first") for each in found} == {True}


def test_who_reads_and_what_nobody_has_read(wire: Wire) -> None:
    """A reader is behind by what it was not given; the stream by what nobody was, children included."""
    wire.put(5)
    reader = wire.client("reader")
    wire.read(reader, wire.iterator(reader, "TRIM_HORIZON"))
    wire.put(3)
    listed = wire.control.readers("input")
    (shown,) = listed.readers
    assert (shown.shard, shown.records, shown.behind, shown.reads) == (wire.shard, 5, 3, 1)
    assert shown.client is not None
    assert shown.client.startswith("reader")
    assert (listed.unread, listed.known) == ({"input": 3}, False)


def test_an_expired_iterator_is_the_faults_and_the_reaction_the_clients(wire: Wire) -> None:
    """The story is the one that is told of the sandbox's own streams."""
    wire.put(2)
    reader = wire.client("reader")
    _, following = wire.read(reader, wire.iterator(reader, "TRIM_HORIZON"))
    wire.control.add_fault(NewFault("expire_iterator", name="old", direction="deliver", limit=1))
    wire.put(3)
    with pytest.raises(ClientError, match="ExpiredIterator"):
        wire.read(reader, following)
    wire.read(reader, wire.iterator(reader, "LATEST"))
    (found,) = wire.diagnose().findings
    assert (found.rule, found.faults, found.evidence["skipped"]) == ("skipped-at-restart", ("old",), 3)
    assert ["expired" in each.said for each in found.steps] == [True, False, False]


def test_failed_entries_that_never_come_again(wire: Wire) -> None:
    """The upstream takes what the fault leaves; without the fault the calls are relayed byte for byte."""
    wire.control.add_fault(NewFault("partial_failure", name="half", channel="input", limit=2))
    entries = [{"Data": b"%d" % number, "PartitionKey": f"{number}"} for number in range(6)]
    answer = wire.producer.put_records(StreamName="input", Records=entries)
    assert answer["FailedRecordCount"] == 2
    assert wire.rules() == ["dropped-entries"]
    wire.control.remove_fault("half")
    failed = [entry for entry, each in zip(entries, answer["Records"], strict=True) if "ErrorCode" in each]
    wire.producer.put_records(StreamName="input", Records=failed)
    assert wire.rules() == []


def test_a_loop_without_a_pause(wire: Wire) -> None:
    reader = wire.client("reader")
    following = wire.iterator(reader, "TRIM_HORIZON")
    for _ in range(25):
        _, following = wire.read(reader, following)
    assert wire.rules() == ["reads-too-often"]


def test_an_upstream_whose_numbers_are_no_numbers_is_passed_over() -> None:
    """Its answers go to the client as they are, and nothing is said of what cannot be told apart."""
    places = UpstreamPlaces(Clock())
    asked = {"StreamName": "s", "Data": b"", "PartitionKey": "k"}
    assert places.translate("PutRecord", asked, {"ShardId": "one", "SequenceNumber": "2"}) is None
    assert (
        places.translate("PutRecord", asked, {"ShardId": "shardId-000000000000", "SequenceNumber": "a"})
        is None
    )


def test_a_long_run_costs_as_much_at_its_end_as_at_its_begin() -> None:
    """The oldest records are forgotten many at once: one by one, a call took five times as long."""
    places, shard = UpstreamPlaces(Clock()), "shardId-000000000000"

    def put(first: int) -> float:
        answers = [{"ShardId": shard, "SequenceNumber": str(first + each)} for each in range(500)]
        began = process_time()
        assert places.translate("PutRecords", {"StreamName": "s"}, {"Records": answers}) is not None
        return process_time() - began

    times = [put(first) for first in range(1, 200_000, 500)]
    assert median(times[300:]) < 2 * median(times[:100])


@given(st.lists(st.integers(1, 10**50), unique=True, max_size=60))
def test_records_are_counted_in_their_order_however_late_they_are_seen(numbers: list[int]) -> None:
    """Those that are seen between two known ones count between them."""
    places = UpstreamPlaces(Clock())
    for number in numbers:
        answer = {"ShardId": "shardId-000000000000", "SequenceNumber": str(number)}
        assert places.translate("PutRecord", {"StreamName": "s"}, answer) is not None
    stream = places.number_of("s")
    for count, number in enumerate(sorted(numbers), 1):
        asked = {"StreamName": "s", "ShardId": "shardId-000000000000"}
        asked |= {"ShardIteratorType": "AT_SEQUENCE_NUMBER", "StartingSequenceNumber": str(number)}
        translated = places.translate("GetShardIterator", asked, {"ShardIterator": "opaque"})
        assert translated is not None
        label = iterators.read(translated[1]["ShardIterator"], now=0).ordinal
        reads = ShardReads("c", "s", "shardId-000000000000", (Reading("", 0.0, label, label, 0.0),))
        assert places.renumber(stream, 0, reads).readings[0].first <= count
        if len(numbers) < 4:
            assert places.renumber(stream, 0, reads).readings[0].first == count
