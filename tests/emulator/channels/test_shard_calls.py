"""Shards that are asked at the same time: none waits for another, and every record comes once, in order."""

from __future__ import annotations

import threading
from collections import defaultdict

from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.channels.channel import ChannelUnavailableError, Delivery
from emulator.channels.checkpoints import MemoryCheckpoints
from emulator.channels.shard_calls import CallsAtOnce, Fetched
from emulator.channels.shard_reader import ShardListing, ShardReader
from emulator.clock import Clock
from tests.emulator.faulted_brokers import NOON

PATIENCE = 30.0


class Stream:
    """Shards with records to fetch. ``answers`` are the events that the calls of a shard wait for."""

    def __init__(self, sizes: list[int]) -> None:
        self.names = [f"shardId-{number:012}" for number in range(len(sizes))]
        self.records = {
            name: [Delivery(b"%d" % n, "key", name, str(n), NOON) for n in range(1, size + 1)]
            for name, size in zip(self.names, sizes, strict=True)
        }
        self.answers = {name: threading.Event() for name in self.names}
        self.asked: list[str] = []
        self.release(*self.names)

    def release(self, *names: str) -> None:
        for name in names:
            self.answers[name].set()

    def hold(self, name: str) -> None:
        self.answers[name].clear()

    def shards(self) -> list[ShardListing]:
        return [ShardListing(name) for name in self.names]

    def fetch(self, shard: str, after: str | None, limit: int) -> Fetched:
        self.asked.append(shard)
        self.answers[shard].wait(PATIENCE)
        start = int(after or 0)
        return Fetched(self.records[shard][start : start + limit], drained=False)


def reader_of(stream: Stream) -> ShardReader:
    return ShardReader(stream, CallsAtOnce(stream.fetch), MemoryCheckpoints())


def test_eight_shards_are_asked_at_the_same_time() -> None:
    """A call is answered when eight are on their way: asked one after another, none would be."""
    together = threading.Barrier(8, timeout=PATIENCE)

    class Together(Stream):
        def fetch(self, shard: str, after: str | None, limit: int) -> Fetched:
            together.wait()
            return super().fetch(shard, after, limit)

    stream = Together([3] * 8)
    assert len(reader_of(stream).read(100)) == 24


def test_a_shard_that_does_not_answer_stops_no_other() -> None:
    """What others get meanwhile is handed over; its own comes when it answers, and it is asked once."""
    stream, clock = Stream([2, 2]), Clock()
    slow, quick = stream.names
    reader = reader_of(stream)
    stream.hold(slow)
    assert {each.shard for each in reader.read_within(0, 100, clock, 0.2)} == {quick}
    stream.records[quick].append(Delivery(b"3", "key", quick, "3", NOON))
    assert [each.data for each in reader.read_within(0, 100, clock, 0.2)] == [b"3"]
    stream.release(slow)
    assert [each.data for each in reader.read_within(0, 100, clock, 0.2)] == [b"1", b"2"]
    assert stream.asked.count(slow) == 1


def test_a_read_ends_without_records_only_when_every_shard_has_answered() -> None:
    """Else who stops at an empty read would leave behind what a slow shard has."""

    class Releasing(Stream):
        def fetch(self, shard: str, after: str | None, limit: int) -> Fetched:
            slow, empty = self.names
            if shard == empty and self.asked.count(empty) == 3:
                self.release(slow)
            return super().fetch(shard, after, limit)

    stream = Releasing([2, 0])
    stream.hold(stream.names[0])
    assert len(reader_of(stream).read_within(0, 100, Clock(), 0.2)) == 2
    assert stream.asked.count(stream.names[1]) >= 3


def test_a_shard_that_fails_is_told_where_the_others_have_nothing() -> None:
    """And what others have is handed over first."""

    class Failing(Stream):
        def fetch(self, shard: str, after: str | None, limit: int) -> Fetched:
            if shard == self.names[0]:
                raise ChannelUnavailableError("refused")
            return super().fetch(shard, after, limit)

    reader = reader_of(Failing([2, 2]))
    outcomes: list[list[Delivery] | str] = []
    for _ in range(2):
        try:
            outcomes.append(reader.read(100))
        except ChannelUnavailableError as error:
            outcomes.append(str(error))
    assert [each if isinstance(each, str) else len(each) for each in outcomes] == [2, "refused"]


@given(
    st.lists(st.integers(0, 40), min_size=1, max_size=12),
    st.lists(st.tuples(st.integers(1, 30), st.integers(0, 11)), min_size=1, max_size=4),
)
@settings(max_examples=20)
def test_every_record_comes_once_and_in_order_whichever_shard_is_slow(
    sizes: list[int], reads: list[tuple[int, int]]
) -> None:
    """Never more than was asked for, whatever the limits and whoever answers late."""
    stream = Stream(sizes)
    reader = reader_of(stream)
    seen: defaultdict[str, list[bytes]] = defaultdict(list)

    def note(limit: int) -> int:
        found = reader.read(limit)
        assert len(found) <= limit
        for each in found:
            seen[each.shard].append(each.data)
        return len(found)

    for limit, which in reads:
        slow = stream.names[which % len(sizes)]
        stream.hold(slow)
        note(limit)
        stream.release(slow)
    while note(7) or sum(map(len, seen.values())) < sum(sizes):
        pass
    assert {name: [each.data for each in its] for name, its in stream.records.items() if its} == seen
