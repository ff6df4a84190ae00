"""A channel of this process, whose stream changes while it is read."""

from __future__ import annotations

from typing import Any

from emulator.channels.memory import DEFAULT_SCOPE, MemoryChannel
from emulator.clock import Clock
from emulator.events import Events
from emulator.kinesis import Engine, Scope, StoredRecord
from tests.schemas.asyncapi.documents import SHAPES

SHARD = "shardId-000000000000"


class SplitBehindARead(Engine):
    """An engine to whose stream a record comes behind a read that found none, and whose shard then ends."""

    def read(
        self, stream: str, shard_id: str, after: str | None, limit: int, scope: Scope | None = None
    ) -> list[StoredRecord]:
        found = super().read(stream, shard_id, after, limit, scope)
        if not found and any(
            each.open and each.id == SHARD for each in self.streams(DEFAULT_SCOPE)[0].shards
        ):
            put(self, "just in time")
            split = {"StreamName": stream, "ShardToSplit": SHARD, "NewStartingHashKey": str(1 << 127)}
            self.call("SplitShard", split, DEFAULT_SCOPE)
        return found


def put(engine: Engine, data: str) -> dict[str, Any]:
    request = {"StreamName": "s", "Data": data.encode(), "PartitionKey": "k"}
    return engine.call("PutRecord", request, DEFAULT_SCOPE)


def test_a_record_that_comes_as_its_shard_ends_is_read_before_the_children() -> None:
    """A shard is done with only if it is empty once it has ended."""
    clock = Clock(frozen_at=1e6)
    engine = SplitBehindARead(None, clock, Events(clock), transition_seconds=0)
    engine.call("CreateStream", {"StreamName": "s", "ShardCount": 1}, DEFAULT_SCOPE)
    channel = MemoryChannel(engine, "s", clock=clock)
    assert [each.data for each in channel.read()] == [b"just in time"]
    put(engine, "of a child")
    assert [each.data for each in channel.read()] == [b"of a child"]
    engine.close()


def test_a_stream_takes_no_headers() -> None:
    """What a queue would carry beside a message is left out, as on any stream."""
    contract, clock = SHAPES["binary_events.yaml"], Clock(frozen_at=1e6)
    engine = Engine(None, clock, Events(clock), transition_seconds=0)
    engine.call("CreateStream", {"StreamName": "s", "ShardCount": 1}, DEFAULT_SCOPE)
    channel = MemoryChannel(engine, "s", clock=clock, headers=contract.headers)
    assert contract.samples is not None
    sent = contract.samples.from_seed(3, now=1e6).message()
    channel.publish(sent.data, sent.key)
    (came,) = channel.read()
    assert came.data.startswith(b'{"kwh":')
    assert sent.data.endswith(came.data + b"}")
