"""The stream engine: Kinesis Data Streams without the network."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar

from emulator.clock import Clock
from emulator.events import Events
from emulator.journal import SEGMENT_BYTES, DamagedLogError
from emulator.kinesis import copies, fast, iterators
from emulator.kinesis.errors import KinesisError, internal_failure
from emulator.kinesis.group_commit import GroupCommit
from emulator.kinesis.limits import Relaxed, Strict
from emulator.kinesis.onlooker import NOBODY, Onlooker
from emulator.kinesis.operations import OPERATIONS, Operation
from emulator.kinesis.reading_views import reading_views
from emulator.kinesis.reads import fetch_after
from emulator.kinesis.scope import Scope
from emulator.kinesis.segment_compression import Packing
from emulator.kinesis.sequence_numbers import number, position
from emulator.kinesis.shard_subscriptions import Subscription
from emulator.kinesis.stored_records import StoredRecord, stored
from emulator.kinesis.stream import Shard, Stream
from emulator.kinesis.stream_registry import Registry
from emulator.kinesis.views import StreamView, view
from emulator.kinesis.writes import append
from rdss_sandbox.shapes.readers import Reader as ReaderView
from rdss_sandbox.shapes.streams import Shard as ShardView

Limits = Literal["relaxed", "strict"]
OnRecords = Callable[[str, str], None]
_Answer = TypeVar("_Answer")


class Engine:
    """Streams in ``directory``, or in memory when it is None. Thread-safe.

    An acknowledged record survives ``kill -9``, and with ``fsync`` loss of power too. ``limits`` "strict"
    enforces AWS's throughput limits and quotas. A stream that is created or resharded is ACTIVE and has its
    shards after ``transition_seconds`` of the clock; one that is deleted is gone after them. A shard begins
    a new file when the last one has ``segment_bytes``. Raises ``DamagedLogError``.
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
        self._build_limits = partial(Strict, clock) if limits == "strict" else Relaxed
        self._exempting = 0
        self._registry = Registry(
            directory,
            clock,
            events,
            self._build_limits(),
            fsync=fsync,
            transition=transition_seconds,
            segment_bytes=segment_bytes,
        )
        self._packing = Packing(self._registry) if directory is not None else None
        self._on_records: list[OnRecords] = []
        self.commits = GroupCommit(self._registry.sync, self._tell) if fsync else None
        """Gathers the flushes of calls that are made on an event loop; None where there are none."""

    def call(self, operation: str, request: dict[str, Any], scope: Scope) -> dict[str, Any]:
        """Run any operation, in botocore's shapes: blobs are bytes, times are seconds since the epoch.

        Raises ``KinesisError``.
        """
        function = OPERATIONS.get(operation)
        if function is None:
            raise KinesisError("UnknownOperationException", f"Operation {operation} is not known.")
        return self._run(lambda: self._operate(operation, function, request, scope))

    def subscribe(
        self, consumer_arn: str, shard_id: str, starting_position: dict[str, Any], scope: Scope
    ) -> Subscription:
        """Run SubscribeToShard. Events are pulled from the returned subscription. Raises ``KinesisError``."""
        request = {
            "ConsumerARN": consumer_arn,
            "ShardId": shard_id,
            "StartingPosition": starting_position,
        }
        subscription: Subscription = self.call("SubscribeToShard", request, scope)["EventStream"]
        return subscription

    def put_records_json(
        self, body: bytes, scope: Scope, watched: Container[str] = (), onlooker: Onlooker = NOBODY
    ) -> bytes:
        """Run PutRecords from JSON to JSON.

        Raises ``KinesisError``; ``NotFastError`` for a request that ``call`` has to judge, and for one whose
        stream is ``watched``. The ``onlooker`` is told of what was done.
        """
        return self._run(lambda: fast.put_records(self._registry, body, scope, watched, onlooker))

    def put_record_json(
        self, body: bytes, scope: Scope, watched: Container[str] = (), onlooker: Onlooker = NOBODY
    ) -> bytes:
        """Run PutRecord from JSON to JSON, as ``put_records_json``."""
        return self._run(lambda: fast.put_record(self._registry, body, scope, watched, onlooker))

    def put(self, stream: str, records: Sequence[tuple[bytes, str]], scope: Scope) -> None:
        """Put records of the sandbox's own, each with its partition key, into a stream of one shard.

        They keep to its limits. Raises ``KinesisError``, and then none is stored.
        """
        self._run(append, self._registry, stream, records, scope)

    def get_records_json(
        self, body: bytes, scope: Scope, watched: Container[str] = (), onlooker: Onlooker = NOBODY
    ) -> bytes:
        """Run GetRecords from JSON to JSON, as ``put_records_json``."""
        # Rendered outside of the lock: joining 10 MiB must not hold up the writers.
        return fast.render_records(
            *self._run(lambda: fast.get_records(self._registry, body, scope, watched, onlooker))
        )

    def on_records(self, callback: OnRecords) -> Callable[[], None]:
        """Call ``callback(stream name, shard id)`` after records arrive or a shard closes or is deleted.

        It is called on the writer's thread. Returns the function that removes it.
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

        Without a ``scope``, the stream is looked for in every account and region. Raises ``KinesisError``
        when there is no such stream, shard or sequence number.
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
        """How many records of a shard are kept after a sequence number; None counts all of them."""
        found = position(after) if after else None
        if found is None:
            return shard.records
        with self._registry.lock:
            stream = self._registry.numbered(found.stream)
            shards = stream.shards.values() if stream is not None else ()
            counts = (each.records.count(found.ordinal + 1) for each in shards if each.prefix == found.prefix)
            return next(counts, shard.records)

    def at(self, stream: str, shard_id: str, sequence_number: str, scope: Scope) -> bytes | None:
        """The data of one record; None when it is gone. Raises what ``read`` raises."""
        found = position(sequence_number)
        if found is None:
            return None
        # A read begins behind a number, and does not look at its arrival.
        before = number(found.prefix, found.ordinal - 1, found.arrival)
        records = self.read(stream, shard_id, before, 1, scope)
        return next((each.data for each in records if each.sequence_number == sequence_number), None)

    def readers(self, stream: str, scope: Scope) -> list[ReaderView]:
        """The readers of a stream and their lag. Raises ``KinesisError`` when there is no such stream."""
        with self._registry.lock:
            self._registry.readers.forget_expired(self._registry.now_ms())
            return list(reading_views(self._registry, self._registry.named(stream, scope)))

    def stream_of_iterator(self, iterator: str) -> str | None:
        """The name of the stream that a shard iterator, expired or not, is for; None when there is none."""
        try:
            # At the time 0 no iterator has expired.
            stream_number = iterators.read(iterator, now=0).stream
        except KinesisError:
            return None
        with self._registry.lock:
            stream = self._registry.numbered(stream_number)
            return stream.name if stream else None

    def streams(self, scope: Scope) -> list[StreamView]:
        """Every stream of an account in a region, with its shards and what is in them, by name."""
        with self._registry.lock:
            streams = self._registry.settle_all(scope)
            for stream in streams:
                self._registry.forget_expired(stream)
            return [view(self._registry, stream) for stream in streams]

    def names(self, scope: Scope) -> list[str]:
        """The names of the streams of an account in a region."""
        with self._registry.lock:
            return [stream.name for stream in self._registry.settle_all(scope)]

    def scopes(self) -> list[Scope]:
        """Every account and region that has a stream."""
        with self._registry.lock:
            return self._registry.scopes()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Let no other thread use the engine while the context lasts. Readers learn of it afterwards."""
        try:
            # In this order: packing needs the lock to come to an end.
            with self._packing.paused() if self._packing else nullcontext(), self._registry.lock:
                yield
        finally:
            with self._registry.lock:
                _, touched = self._registry.take_touched()
            self._tell(touched)

    def save(self) -> list[bytes]:
        """Return a copy of everything, for ``load``. Raises ``DamagedLogError`` and OSError."""
        with self._registry.lock:
            return copies.save(self._registry)

    def load(self, saved: Sequence[bytes | memoryview], leap: int) -> None:
        """Replace everything by what was saved. Raises OSError, and then a mixture is left.

        Subscriptions end as they do after five minutes. Iterators and sequence numbers of streams that were
        saved stay valid: a reader that was beyond the last saved record goes on with the next that is put.
        ``leap`` is higher than in any earlier call. Call it while the engine is ``held``.
        """
        copies.load(self._registry, saved, leap)

    def finish(self, stream: str, scope: Scope) -> None:
        """End a stream's transition (CREATING, UPDATING, DELETING) at once.

        Raises ``KinesisError`` when there is no such stream.
        """
        self._run(lambda: self._registry.finish(self._registry.named(stream, scope)))

    @contextmanager
    def unlimited(self) -> Iterator[None]:
        """Enforce no limits for the time of the context, in which the sandbox itself makes its streams.

        Afterwards limits are those of an account that has made no calls yet.
        """
        registry = self._registry
        with registry.lock:
            self._exempting += 1
            registry.limits = Relaxed()
        try:
            yield
        finally:
            with registry.lock:
                self._exempting -= 1
                # Several threads may be making streams: the last one brings the limits back.
                if not self._exempting:
                    registry.limits = self._build_limits()

    def pack(self) -> None:
        """Compress all records on disk but the last few of each shard. Raises OSError."""
        if self._packing:
            self._packing.pack()

    def close(self) -> None:
        """Close the files. The engine cannot be used afterwards."""
        if self._packing:
            self._packing.close()
        with self._registry.lock:
            self._registry.close()

    def _operate(
        self, name: str, function: Operation, request: dict[str, Any], scope: Scope
    ) -> dict[str, Any]:
        self._registry.limits.operation(name, scope)
        return function(self._registry, request, scope)

    def _run(self, operation: Callable[..., _Answer], *given: object) -> _Answer:
        registry = self._registry
        with registry.lock:
            try:
                answer = operation(*given)
            except DamagedLogError as error:
                registry.events.emit(
                    "journal.damaged", file=str(error.path), position=error.position, why=str(error)
                )
                raise internal_failure(str(error)) from error
            except OSError as error:
                raise internal_failure(f"the records could not be read: {error}") from error
            finally:
                written, touched = registry.take_touched()
                if self._packing:
                    self._packing.in_use = True
                    if written:
                        self._packing.wake()
        if self.commits is not None and self.commits.gathers:
            self.commits.add(written, touched)
            return answer
        # Without the lock: while one call waits for the disk, others write, and their flushes are shared.
        # Readers are woken only after the flush, so that they see nothing that a power cut can undo.
        registry.sync(written)
        self._tell(touched)
        return answer

    def _tell(self, touched: Iterable[tuple[Stream, Shard]]) -> None:
        for stream, shard in touched:
            for callback in tuple(self._on_records):
                callback(stream.name, shard.id)
