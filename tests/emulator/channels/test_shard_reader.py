"""Reading a stream whole, whatever happens to its shards and its reader."""

from __future__ import annotations

from contextlib import suppress
from itertools import pairwise
from typing import Any
from unittest import mock

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from emulator.channels.channel import ChannelUnavailableError, Delivery
from emulator.channels.checkpoints import MemoryCheckpoints
from emulator.channels.memory import DEFAULT_SCOPE, MemoryChannel
from emulator.channels.shard_calls import CallsInTurn, Fetched
from emulator.channels.shard_reader import ShardListing, ShardReader
from emulator.clock import Clock
from emulator.events import Events
from emulator.kinesis import Engine
from tests.emulator.faulted_brokers import NOON

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("publish"), st.integers(1, 20)),
        st.tuples(st.just("split"), st.integers(0, 20)),
        st.tuples(st.just("merge"), st.integers(0, 20)),
        st.tuples(st.just("read"), st.integers(1, 15)),
        st.tuples(st.just("commit"), st.integers(0, 100)),
        st.tuples(st.just("reopen"), st.just(0)),
    ),
    max_size=25,
)


class Session:
    """A stream, a consumer of it, and what the consumer has seen."""

    def __init__(self) -> None:
        self.clock = Clock(frozen_at=NOON, autojump=True)
        self.engine = Engine(None, self.clock, Events(self.clock))
        self.engine.call("CreateStream", {"StreamName": "s", "ShardCount": 2}, DEFAULT_SCOPE)
        self.checkpoints = MemoryCheckpoints()
        self.sent = 0
        self.seen: list[Delivery] = []
        self.done: set[int] = set()
        self.reopen(0)

    def reopen(self, _: int) -> None:
        """A new process: what was seen and not committed is to come again."""
        self.session: list[Delivery] = []
        self.channel = MemoryChannel(self.engine, "s", clock=self.clock, checkpoints=self.checkpoints)

    def publish(self, count: int) -> None:
        entries = [(b"%d" % (self.sent + n), f"key {(self.sent + n) % 5}") for n in range(count)]
        self.channel.publish_many(entries)
        self.sent += count

    def read(self, limit: int) -> None:
        found = self.channel.read(limit=limit)
        assert len(found) <= limit
        assert not {int(d.data) for d in found} & self.done, "what was committed came again"
        self.session += found
        self.seen += found

    def commit(self, which: int) -> None:
        if self.session:
            chosen = self.session[which % len(self.session)]
            self.channel.commit(chosen)
            at = self.session.index(chosen)
            self.done |= {int(d.data) for d in self.session[: at + 1] if d.shard == chosen.shard}

    def split(self, which: int) -> None:
        shards = self._open()
        if len(shards) < 8:
            shard = shards[which % len(shards)]
            low, high = _range(shard)
            names = {"ShardToSplit": shard["ShardId"], "NewStartingHashKey": str((low + high + 1) // 2)}
            self.engine.call("SplitShard", {"StreamName": "s", **names}, DEFAULT_SCOPE)

    def merge(self, which: int) -> None:
        shards = sorted(self._open(), key=_range)
        if len(shards) > 1:
            left, right = shards[which % (len(shards) - 1) :][:2]
            names = {"ShardToMerge": left["ShardId"], "AdjacentShardToMerge": right["ShardId"]}
            self.engine.call("MergeShards", {"StreamName": "s", **names}, DEFAULT_SCOPE)

    def drain(self) -> None:
        quiet = 0
        while quiet < 2:
            before = len(self.session)
            self.read(1000)
            quiet = quiet + 1 if len(self.session) == before else 0

    def _open(self) -> list[dict[str, Any]]:
        shards: list[dict[str, Any]] = self.engine.call("ListShards", {"StreamName": "s"}, DEFAULT_SCOPE)[
            "Shards"
        ]
        return [shard for shard in shards if "EndingSequenceNumber" not in shard["SequenceNumberRange"]]


def _range(shard: dict[str, Any]) -> tuple[int, int]:
    found = shard["HashKeyRange"]
    return int(found["StartingHashKey"]), int(found["EndingHashKey"])


# Nothing of the first shard is committed, and the empty one between it and its grandchild has ended.
EMPTY_GENERATION = [*[("publish", 1)] * 5, ("split", 0), ("split", 1)]


@settings(max_examples=80)
@given(STEPS)
@example([*EMPTY_GENERATION, ("read", 5), ("publish", 1), ("read", 1), ("reopen", 0)])
def test_everything_comes_in_order_and_nothing_that_was_committed_comes_again(
    steps: list[tuple[str, int]],
) -> None:
    """Through any mix of publishing, splitting, merging, reading, committing and starting anew."""
    session = Session()
    for step, number in steps:
        getattr(session, step)(number)
    session.drain()
    assert {int(d.data) for d in session.seen} == set(range(session.sent))
    assert {int(d.data) for d in session.session} | session.done == set(range(session.sent))
    for key in {d.key for d in session.session}:
        numbers = [int(d.data) for d in session.session if d.key == key]
        assert numbers == sorted(numbers)
    assert session.channel.count_uncommitted() <= session.sent
    session.engine.close()


@pytest.mark.parametrize(("records", "calls"), [(0, 5), (3, 15)], ids=["nothing", "a few"])
def test_reads_that_wait_keep_their_distance_across_calls(records: int, calls: int) -> None:
    """Kinesis allows five reads a second of a shard, and a receiver reads call after call.

    A read that gets less than it may have has come to the end, so that the next one need not come at once.
    """
    clock = Clock(frozen_at=NOON, autojump=True)
    times: list[float] = []

    class Source:
        def shards(self) -> list[ShardListing]:
            return [ShardListing("shardId-000000000000", ())]

        def fetch(self, shard: str, _after: str | None, _limit: int) -> Fetched:
            times.append(clock.elapsed())
            delivery = Delivery(b"", "key", shard, str(len(times)), clock.time())
            return Fetched([delivery] * records, drained=False)

    source = Source()
    reader = ShardReader(source, CallsInTurn(source.fetch), MemoryCheckpoints())
    for _ in range(calls):
        reader.read_within(0.6, 10, clock, 0.2)
    assert len(times) > 10
    assert all(later - earlier > 0.199 for earlier, later in pairwise(times))
    before = clock.elapsed()
    reader.read_within(0.0, 10, clock, 0.2)
    assert clock.elapsed() == before


def test_what_one_shard_gave_is_not_lost_when_another_fails() -> None:
    """A shard that is refused for longer than the reader tries takes no other shard's records with it."""
    failing = True

    class Source:
        given = 0

        def shards(self) -> list[ShardListing]:
            return [ShardListing("shardId-000000000000"), ShardListing("shardId-000000000001")]

        def fetch(self, shard: str, _after: str | None, _limit: int) -> Fetched:
            if shard.endswith("1"):
                if failing:
                    raise ChannelUnavailableError("refused")
                return Fetched([Delivery(b"1", "key", shard, "1", NOON)], drained=True)
            self.given += 1
            delivery = Delivery(b"0", "key", shard, str(self.given), NOON)
            return Fetched([delivery] if self.given <= 3 else [], drained=False)

    source = Source()
    reader = ShardReader(source, CallsInTurn(source.fetch), MemoryCheckpoints())
    found: list[bytes] = []
    refusals = 0
    for _ in range(8):
        try:
            found += [each.data for each in reader.read(10)]
        except ChannelUnavailableError:
            refusals += 1
    assert found == [b"0"] * 3
    assert refusals
    failing = False
    assert [each.data for each in reader.read(10)] == [b"1"]


def test_what_was_read_is_not_lost_when_the_children_of_its_shard_cannot_be_listed() -> None:
    """The shards are listed by a later read, and their records come behind those of the parent."""
    session = Session()
    session.publish(10)
    session.read(100)
    session.split(0)
    session.publish(10)
    listed, asked = session.channel.shards, 0

    def fail_once() -> list[ShardListing]:
        nonlocal asked
        asked += 1
        if asked == 1:
            raise ChannelUnavailableError("refused")
        return listed()

    session.channel._reader.source = mock.Mock(shards=fail_once)
    for _ in range(10):
        with suppress(ChannelUnavailableError):
            session.read(100)
    assert asked > 1
    assert sorted(int(each.data) for each in session.seen) == list(range(20))


def test_a_reader_goes_on_when_retention_has_taken_a_shard() -> None:
    """A reader that runs, as one that begins: nothing of that shard is left, and its children are read."""
    session = Session()
    session.publish(10)
    session.read(3)
    session.split(0)
    session.split(0)
    session.clock.advance(2 * 86_400)
    session.publish(10)
    session.engine.streams(DEFAULT_SCOPE)
    for _ in range(10):
        with suppress(ChannelUnavailableError):
            session.read(100)
    assert {int(each.data) for each in session.seen} >= set(range(10, 20))


def test_what_is_in_hand_is_passed_over_and_so_are_its_descendants() -> None:
    """A parent whose last records are still being worked on holds its children back, and no other shard."""
    listed = [ShardListing("shardId-000000000000"), ShardListing("shardId-000000000001")]

    class Source:
        def shards(self) -> list[ShardListing]:
            return [*listed, ShardListing("shardId-000000000002", ("shardId-000000000000",))]

        def fetch(self, shard: str, after: str | None, _limit: int) -> Fetched:
            deliveries = [] if after else [Delivery(shard.encode(), "key", shard, "1", NOON)]
            return Fetched(deliveries, drained=True)

    source = Source()
    reader = ShardReader(source, CallsInTurn(source.fetch), MemoryCheckpoints())
    (parent, other) = (each.id for each in listed)
    assert {each.shard for each in reader.read(10)} == {parent, other}
    assert reader.read(10, in_hand=[parent]) == []
    assert [each.shard for each in reader.read(10, in_hand=[other])] == ["shardId-000000000002"]
