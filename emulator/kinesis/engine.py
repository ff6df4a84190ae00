"""The stream engine: Kinesis Data Streams without the network."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, TypeVar

from emulator.clock import Clock
from emulator.events import Events
from emulator.journal import SEGMENT_BYTES, DamagedLogError
from emulator.kinesis import fast, iterators
from emulator.kinesis.errors import KinesisError, internal_failure
from emulator.kinesis.limits import Relaxed, Strict
from emulator.kinesis.operations import OPERATIONS, Operation
from emulator.kinesis.packing import Packing
from emulator.kinesis.reading_views import ReaderView, reading_views
from emulator.kinesis.reads import fetch_after
from emulator.kinesis.records import StoredRecord, stored
from emulator.kinesis.registry import Registry
from emulator.kinesis.scope import Scope
from emulator.kinesis.sequence_numbers import number, position
from emulator.kinesis.subscriptions import Subscription
from emulator.kinesis.views import ShardView, StreamView, view

Limits = Literal["relaxed", "strict"]
OnRecords = Callable[[str, str], None]
_Answer = TypeVar("_Answer")


class Engine:
    """Streams in ``directory``, or in memory when it is None. Thread-safe.

    An acknowledged record survives ``kill -9``; with ``fsync`` loss of power
    too. ``limits`` "strict" enforces AWS's throughput limits and quotas.
    ``transition_seconds`` of the clock pass before a stream that is created or
    resharded is ACTIVE and has its shards, and one that is deleted is gone. A
    shard's records go to a new file when one has ``segment_bytes``. Raises
    ``DamagedLogError``.
    """

    def __init__(
        self,
        directory: Path | None,
        clock: Clock,
        events: Events,
        *,
        fsync: bool = False,
        limits: Limits = "relaxed",
        transition_seconds: float = 0.0,
        segment_bytes: int = SEGMENT_BYTES,
    ) -> None:
        enforced = Strict(clock) if limits == "strict" else Relaxed()
        self._registry = Registry(
            directory,
            clock,
            events,
            enforced,
            fsync=fsync,
            transition=transition_seconds,
            segment_bytes=segment_bytes,
        )
        self._packing = Packing(self._registry) if directory is not None else None
        self._on_records: list[OnRecords] = []

    def call(self, operation: str, request: dict[str, Any], scope: Scope) -> dict[str, Any]:
        """Do any operation, in botocore's shapes: blobs are bytes, times seconds since the epoch.

        Raises ``KinesisError``.
        """
        function = OPERATIONS.get(operation)
        if function is None:
            raise KinesisError("UnknownOperationException", f"Operation {operation} is not known.")
        return self._run(lambda: self._operate(operation, function, request, scope))

    def subscribe(
        self, consumer_arn: str, shard_id: str, starting_position: dict[str, Any], scope: Scope
    ) -> Subscription:
        """SubscribeToShard: batches are pulled from what is returned. Raises ``KinesisError``."""
        request = {
            "ConsumerARN": consumer_arn,
            "ShardId": shard_id,
            "StartingPosition": starting_position,
        }
        subscription: Subscription = self.call("SubscribeToShard", request, scope)["EventStream"]
        return subscription

    def put_records_json(self, body: bytes, scope: Scope) -> bytes:
        """PutRecords from JSON to JSON.

        Raises ``KinesisError``, or ``NotFastError`` for ``call`` to decide.
        """
        return self._run(lambda: fast.put_records(self._registry, body, scope))

    def put_record_json(self, body: bytes, scope: Scope) -> bytes:
        """PutRecord from JSON to JSON.

        Raises ``KinesisError``, or ``NotFastError`` for ``call`` to decide.
        """
        return self._run(lambda: fast.put_record(self._registry, body, scope))

    def get_records_json(self, body: bytes, scope: Scope) -> bytes:
        """GetRecords from JSON to JSON.

        Raises ``KinesisError``, or ``NotFastError`` for ``call`` to decide.
        """
        return fast.render(*self._run(lambda: fast.get_records(self._registry, body, scope)))

    def on_records(self, callback: OnRecords) -> Callable[[], None]:
        """Have ``callback(stream name, shard id)`` called after records came, a shard closed or was deleted.

        It is called on the writer's thread. Returns the function that ends it.
        """
        self._on_records.append(callback)
        return lambda: self._on_records.remove(callback)

    def read(
        self,
        stream: str,
        shard_id: str,
        after_sequence_number: str | None,
        limit: int,
        scope: Scope | None = None,
    ) -> list[StoredRecord]:
        """Up to ``limit`` records (and 10 MiB) of a shard after a sequence number; None starts at the oldest.

        Without a ``scope``, the stream is looked for in every one.
        Raises ``KinesisError`` when there is no such stream, shard or sequence number.
        """
        registry = self._registry
        parts = self._run(
            lambda: fetch_after(
                registry.anywhere(stream, scope),
                shard_id,
                after_sequence_number,
                registry.now_ms(),
                limit=limit,
            )
        )
        return stored(parts)

    def unread(self, _stream: str, shard: ShardView, after: str | None) -> int:
        """How many records of a shard are kept behind a sequence number; None: all of them."""
        found = position(after) if after else None
        if found is None:
            return shard.records
        with self._registry.lock:
            stream = self._registry.numbered(found.stream)
            shards = stream.shards.values() if stream is not None else ()
            counts = (each.records.count(found.ordinal + 1) for each in shards if each.prefix == found.prefix)
            return next(counts, shard.records)

    def at(self, stream: str, shard_id: str, sequence_number: str, scope: Scope) -> bytes | None:
        """The data of one record, None when it is gone. Raises as ``read``."""
        found = position(sequence_number)
        if found is None:
            return None
        before = number(found.prefix, found.ordinal - 1, found.arrival)
        records = self.read(stream, shard_id, before, 1, scope)
        return next((each.data for each in records if each.sequence_number == sequence_number), None)

    def readers(self, stream: str, scope: Scope) -> list[ReaderView]:
        """Who reads a stream, and how far behind they are. Raises ``KinesisError`` for no such stream."""
        with self._registry.lock:
            return list(reading_views(self._registry, self._registry.named(stream, scope)))

    def stream_of_iterator(self, iterator: str) -> str | None:
        """The name of the stream that a shard iterator, expired or not, is of; None when there is none."""
        try:
            stream_number = iterators.read(iterator, now=0).stream
        except KinesisError:
            return None
        with self._registry.lock:
            stream = self._registry.numbered(stream_number)
            return stream.name if stream else None

    def streams(self, scope: Scope) -> list[StreamView]:
        """Every stream of an account in a region, with its shards and what is in them, by name."""
        with self._registry.lock:
            return [view(self._registry, stream) for stream in self._registry.streams(scope)]

    def scopes(self) -> list[Scope]:
        """Every account and region that has a stream."""
        with self._registry.lock:
            return self._registry.scopes()

    def finish(self, stream: str, scope: Scope) -> None:
        """Have what a stream is becoming (CREATING, UPDATING, DELETING) be so at once.

        Raises ``KinesisError`` when there is no such stream.
        """
        self._run(lambda: self._registry.finish(self._registry.named(stream, scope)))

    def pack(self) -> None:
        """Compress every record on disk but the last few of each shard. Raises OSError."""
        if self._packing:
            self._packing.pack()

    def close(self) -> None:
        """Give the files back; the engine cannot be used afterwards."""
        if self._packing:
            self._packing.close()
        with self._registry.lock:
            self._registry.close()

    def _operate(
        self, name: str, function: Operation, request: dict[str, Any], scope: Scope
    ) -> dict[str, Any]:
        self._registry.limits.operation(name, scope)
        return function(self._registry, request, scope)

    def _run(self, operation: Callable[[], _Answer]) -> _Answer:
        registry = self._registry
        with registry.lock:
            try:
                answer = operation()
            except DamagedLogError as error:
                registry.events.emit("journal.damaged", file=str(error.path), position=error.position)
                raise internal_failure(str(error)) from error
            except OSError as error:
                raise internal_failure(f"the records could not be read: {error}") from error
            finally:
                written, touched = registry.take_touched()
                if self._packing:
                    self._packing.in_use = True
                    if written:
                        self._packing.wake()
        registry.sync(written)
        for stream, shard in touched:
            for callback in tuple(self._on_records):
                callback(stream.name, shard.id)
        return answer
