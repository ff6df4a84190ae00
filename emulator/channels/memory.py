"""A channel directly over a stream service, by default the engine of this process."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final

from emulator.channels.aws_answers import entry_outcome, parse_shard
from emulator.channels.channel import (
    ChannelUnavailableError,
    Delivery,
    Outcome,
    PublishRefusedError,
    PublishUnknownError,
    Receipt,
)
from emulator.channels.channel_faults import ChannelFaults
from emulator.channels.checkpoints import SHARD_END, Checkpoints, MemoryCheckpoints
from emulator.channels.faulted_reads import FaultedReads
from emulator.channels.shard_calls import CallsInTurn, Fetched
from emulator.channels.shard_reader import ShardListing, ShardReader
from emulator.clock import Clock
from emulator.faults.fault_engine import FaultEngine
from emulator.kinesis import KinesisError, Scope, ShardView
from emulator.kinesis.batches import Entry, batches
from emulator.streams.stream_service import StreamService
from schemas.headers import Headers, leave_headers_out

POLL_SECONDS: Final = 0.05
DEFAULT_SCOPE: Final = Scope("000000000000", "us-east-1")
"""The account and region of a client without credentials: those of the sandbox."""


class MemoryChannel:
    """One stream of an engine. The faults of ``fault_engine`` act on what is published and delivered here.

    Messages are published without the ``headers`` of their contract, which a stream does not carry.
    """

    def __init__(
        self,
        engine: StreamService,
        name: str,
        *,
        clock: Clock,
        checkpoints: Checkpoints | None = None,
        fault_engine: FaultEngine | None = None,
        headers: Headers | None = None,
        scope: Scope = DEFAULT_SCOPE,
    ) -> None:
        self._headers = headers
        self.name = name
        self._engine = engine
        self._scope = scope
        self._clock = clock
        self._reader = ShardReader(self, CallsInTurn(self.fetch), checkpoints or MemoryCheckpoints())
        self._faults = ChannelFaults(fault_engine, clock, name, "memory")
        self._faulted = FaultedReads(self._faults, self._read_records)

    def publish(self, data: bytes, key: str) -> Receipt:
        outcome = self.publish_many([(data, key)])[0]
        if isinstance(outcome, Receipt):
            return outcome
        raise outcome

    def publish_many(self, entries: Sequence[Entry]) -> list[Outcome]:
        sent = [(leave_headers_out(self._headers, data), key) for data, key in entries]
        return self._faults.publish(sent, self._put)

    def read(self, *, limit: int = 100, wait: float = 0.0, in_hand: Collection[str] = ()) -> list[Delivery]:
        return self._reader.read_within(wait, limit, self._clock, POLL_SECONDS, in_hand)

    def commit(self, delivery: Delivery) -> None:
        self._reader.commit(delivery)

    def close(self) -> None:
        """Do nothing, since nothing is held open."""

    @property
    def holds_back(self) -> bool:
        """Whether faults hold back records that were already read from the stream."""
        return self._faulted.holds_back

    def start_over(self, checkpoints: Checkpoints) -> None:
        """Read from the start again, because the stream was deleted and created again under its name."""
        self._reader = ShardReader(self, CallsInTurn(self.fetch), checkpoints)
        self._faulted.clear()

    def count_uncommitted(self) -> int:
        """Count the records after the checkpoints of this channel; 0 when there is no such stream."""
        views = (view for view in self._engine.streams(self._scope) if view.name == self.name)
        return sum(self._count_uncommitted(shard) for view in views for shard in view.shards)

    def _count_uncommitted(self, shard: ShardView) -> int:
        position = self._reader.committed(shard.id)
        return 0 if position == SHARD_END else self._engine.unread(self.name, shard, position)

    def shards(self) -> list[ShardListing]:
        """List the stream's shards, for ``ShardReader``."""
        response = self._call("ListShards", {"StreamName": self.name})
        return [parse_shard(shard) for shard in response["Shards"]]

    def fetch(self, shard: str, after: str | None, limit: int) -> Fetched:
        """Fetch records of a shard, as the faults let them through, for ``CallsInTurn``."""
        return self._faulted.take(shard, after, limit)

    def _read_records(self, shard: str, after: str | None, limit: int) -> Fetched:
        try:
            records = self._engine.read(self.name, shard, after, limit, self._scope)
            drained = not records and self._is_closed(shard)
            if drained:
                # Records may have come between the read and the end of the shard.
                records = self._engine.read(self.name, shard, after, limit, self._scope)
        except KinesisError as error:
            raise ChannelUnavailableError(f"{self.name}/{shard}: {error}") from error
        deliveries = [
            Delivery(record.data, record.partition_key or "", shard, record.sequence_number, record.arrived)
            for record in records
        ]
        return Fetched(deliveries, drained=drained and not records)

    def _is_closed(self, shard: str) -> bool:
        return any(
            listing["ShardId"] == shard and "EndingSequenceNumber" in listing["SequenceNumberRange"]
            for listing in self._call("ListShards", {"StreamName": self.name})["Shards"]
        )

    def _call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        try:
            return self._engine.call(operation, request, self._scope)
        except KinesisError as error:
            raise ChannelUnavailableError(f"{self.name}: {error}") from error

    def _put(self, entries: Sequence[Entry]) -> list[Outcome]:
        return [outcome for batch in batches(entries) for outcome in self._put_batch(batch)]

    def _put_batch(self, entries: Sequence[Entry]) -> list[Outcome]:
        records = [{"Data": data, "PartitionKey": key} for data, key in entries]
        try:
            response = self._engine.call(
                "PutRecords", {"StreamName": self.name, "Records": records}, self._scope
            )
        except KinesisError as error:
            outcome = PublishUnknownError if error.status >= 500 else PublishRefusedError
            return [outcome(error.code, error.message)] * len(entries)
        return [entry_outcome(entry) for entry in response["Records"]]
