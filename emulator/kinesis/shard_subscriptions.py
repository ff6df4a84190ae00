"""Subscriptions of fan-out consumers to shards. Events are pulled, for five minutes of the clock."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Literal

from emulator.clock import Clock
from emulator.journal import DamagedLogError
from emulator.kinesis import sequence_numbers
from emulator.kinesis.errors import in_use, internal_failure
from emulator.kinesis.reads import FetchedLines, child_shards, fetch
from emulator.kinesis.starting_positions import starting_ordinal
from emulator.kinesis.stored_records import read_lines, shape
from emulator.kinesis.stream import Shard, Stream

LIFETIME_SECONDS = 300.0
TAKEOVER_SECONDS = 5.0
_RECORDS_IN_EVENT = 10_000
_DATA_BYTES_IN_EVENT = 1 << 20

Ending = Literal["shard end", "expired", "taken over", "deleted", "closed"]


class Subscription:
    """One consumer's subscription to one shard. Thread-safe.

    ``ended`` says why it ended: the shard ended, five minutes passed, a newer subscription took over, its
    consumer or stream was deleted, or it was closed. It is None while the subscription runs. ``records``
    counts those that it has passed.
    """

    def __init__(self, among: Subscriptions, stream: Stream, shard: Shard, kind: str, ordinal: int) -> None:
        self.stream_name = stream.name
        self.shard_id = shard.id
        self.ended: Ending | None = None
        self._lock = among.lock
        self._clock = among.clock
        self._settle = among.settle
        self._stream = stream
        self._shard = shard
        self._ordinal = ordinal
        self.records = 0
        shard.begin_reading(kind, ordinal)
        self.began = self._clock.elapsed()

    def next_batch(self, *, empty: bool = False) -> dict[str, Any] | None:
        """The next SubscribeToShardEvent in botocore's shape; None when there is no new record, or it ended.

        With ``empty``, an event without records takes the place of the first None. The event at the end of a
        shard has ChildShards and no ContinuationSequenceNumber. Raises InternalFailure when records cannot
        be read.
        """
        found = self._next(empty=empty)
        return None if found is None else {"Records": [shape(r) for r in read_lines(found[0])]} | found[1]

    @property
    def ordinal(self) -> int:
        """The ordinal of the next record."""
        return self._ordinal

    @property
    def resharded_in(self) -> float | None:
        """Clock seconds until the stream's resharding takes effect; None when none is under way."""
        with self._lock:
            state = self._stream.state
            return None if state.coming is None else max(0.0, state.busy_until - self._clock.time())

    def close(self) -> None:
        """End the subscription, so that the consumer can subscribe again at once."""
        self.end("closed")

    def end(self, why: Ending) -> None:
        """End the subscription, unless it has ended already."""
        with self._lock:
            self.ended = self.ended or why

    def _next(self, *, empty: bool) -> tuple[list[memoryview], dict[str, Any]] | None:
        with self._lock:
            if self._clock.elapsed() - self.began >= LIFETIME_SECONDS:
                self.end("expired")
            if self.ended is not None:
                return None
            # A resharding that is due closes the shard, and ends this.
            self._settle(self._stream)
            now = int(self._clock.time() * 1000)
            found = self._fetch(now)
            start, self._ordinal = self._ordinal, found.reached
            self.records += found.lines
            self._shard.note_read(start, found.reached)
            event: dict[str, Any] = {"MillisBehindLatest": found.millis_behind}
            if found.next is None:
                self.end("shard end")
                return found.parts, event | {"ChildShards": child_shards(self._stream, self._shard)}
            if not found.parts and not empty:
                return None
            return found.parts, event | {"ContinuationSequenceNumber": self._continuation(now)}

    def _fetch(self, now: int) -> FetchedLines:
        limits = {"limit": _RECORDS_IN_EVENT, "max_bytes": _DATA_BYTES_IN_EVENT}
        try:
            return fetch(self._stream, self._shard, self._ordinal, now, **limits)
        except (DamagedLogError, OSError) as error:
            raise internal_failure(f"the records could not be read: {error}") from error

    def _continuation(self, now: int) -> str:
        """A sequence number after the last record passed (or the shard's start) and before the next one."""
        last = self._ordinal - 1
        arrival = self._shard.records.arrival_of(last) or self._shard.state.created
        # Later than the record, also on a clock that stands still: else the number would be the record's own.
        return sequence_numbers.number(self._shard.prefix, last, max(now, arrival + 1))


class Subscriptions:
    """The running subscriptions, at most one for each consumer and shard.

    ``settle`` ends a stream's transition if it is due. It is called with ``lock`` held.
    """

    def __init__(self, lock: threading.RLock, clock: Clock, settle: Callable[[Stream], None]) -> None:
        self.lock = lock
        self.clock = clock
        self.settle = settle
        self._running: dict[tuple[str, str], Subscription] = {}

    def subscribe(
        self, stream: Stream, consumer_arn: str, shard_id: str, position: dict[str, Any]
    ) -> Subscription:
        """Subscribe from ``position``. A running subscription that is at least 5 seconds old is taken over.

        Raises ResourceInUseException when it is younger, and the errors of ``Stream.shard`` and
        ``starting_ordinal``.
        """
        shard = stream.shard(shard_id)
        ordinal = starting_ordinal(stream, shard, position, int(self.clock.time() * 1000))
        running = self._running.get((consumer_arn, shard.id))
        if running is not None and running.ended is None:
            if self.clock.elapsed() - running.began < TAKEOVER_SECONDS:
                raise in_use(
                    f"Another active subscription exists for this consumer: {consumer_arn}:{shard.id}"
                )
            running.end("taken over")
        fresh = Subscription(self, stream, shard, position["Type"], ordinal)
        # Here and not where one ends, which happens while others go through them all.
        self._running = {key: sub for key, sub in self._running.items() if sub.ended is None}
        self._running[consumer_arn, shard.id] = fresh
        return fresh

    def running(self, consumer_arn: str) -> list[Subscription]:
        found = (sub for (arn, _), sub in self._running.items() if arn == consumer_arn)
        return [sub for sub in found if sub.ended is None]

    def end_all(self) -> None:
        """End every subscription as its time does: consumers subscribe again, from where they were."""
        for subscription in self._running.values():
            subscription.end("expired")
        self._running.clear()

    def end(self, arn: str) -> None:
        """End the subscriptions of a deleted consumer, or of all consumers of a deleted stream."""
        for (consumer_arn, _), subscription in self._running.items():
            if consumer_arn == arn or consumer_arn.startswith(f"{arn}/consumer/"):
                subscription.end("deleted")
