"""Subscriptions of fan-out consumers to shards: pulled batch by batch, five minutes of the clock long."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Literal

import msgspec

from emulator.clock import Clock
from emulator.journal import DamagedLogError
from emulator.kinesis import sequence_numbers
from emulator.kinesis.errors import in_use, internal_failure
from emulator.kinesis.reads import Fetched, child_shards, fetch
from emulator.kinesis.records import array, read_lines, shape
from emulator.kinesis.starting_positions import starting_ordinal
from emulator.kinesis.stream import Shard, Stream

LIFETIME_SECONDS = 300.0
TAKEOVER_SECONDS = 5.0
_RECORDS_IN_EVENT = 10_000
_DATA_BYTES_IN_EVENT = 1 << 20

Ending = Literal["shard end", "expired", "taken over", "deleted", "closed"]


class Subscription:
    """One consumer's place in one shard.

    ``ended`` says why it is over: the shard has ended, five minutes have
    passed, a newer subscription took its place, its consumer or stream was
    deleted, or it was closed; None while it runs. Thread-safe.
    """

    def __init__(self, among: Subscriptions, stream: Stream, shard: Shard, ordinal: int) -> None:
        self.stream_name = stream.name
        self.shard_id = shard.id
        self.ended: Ending | None = None
        self._lock = among.lock
        self._clock = among.clock
        self._settle = among.settle
        self._stream = stream
        self._shard = shard
        self._ordinal = self._first = ordinal
        shard.pass_to(ordinal)
        self.began = self._clock.elapsed()

    def next_batch(self, *, empty: bool = False) -> dict[str, Any] | None:
        """The next SubscribeToShardEvent in botocore's shape; None when nothing is new, or it has ended.

        With ``empty`` there is an event without records when nothing is new. The event at the end of a shard
        has ChildShards and no ContinuationSequenceNumber. Raises InternalFailure when records are damaged.
        """
        found = self._next(empty=empty)
        return None if found is None else {"Records": [shape(r) for r in read_lines(found[0])]} | found[1]

    def next_batch_json(self, *, empty: bool = False) -> bytes | None:
        """``next_batch`` as JSON, without decoding a record."""
        found = self._next(empty=empty)
        if found is None:
            return None
        return array(b'{"Records":[', found[0], b"]," + msgspec.json.encode(found[1])[1:])

    @property
    def ordinal(self) -> int:
        """The number of the record that is next."""
        return self._ordinal

    @property
    def records(self) -> int:
        """How many records it passed."""
        return self._ordinal - self._first

    @property
    def resharded_in(self) -> float | None:
        """The clock seconds until the stream has other shards; None when it is to keep those it has."""
        with self._lock:
            state = self._stream.state
            return None if state.coming is None else max(0.0, state.busy_until - self._clock.time())

    def close(self) -> None:
        """End it, so that the consumer can subscribe again at once."""
        self.end("closed")

    def end(self, why: Ending) -> None:
        """End it, unless it has ended."""
        with self._lock:
            self.ended = self.ended or why

    def _next(self, *, empty: bool) -> tuple[list[memoryview], dict[str, Any]] | None:
        with self._lock:
            if self._clock.elapsed() - self.began >= LIFETIME_SECONDS:
                self.end("expired")
            if self.ended is not None:
                return None
            self._settle(self._stream)
            now = int(self._clock.time() * 1000)
            found = self._fetch(now)
            self._ordinal = found.reached
            self._shard.pass_to(found.reached)
            event: dict[str, Any] = {"MillisBehindLatest": found.millis_behind}
            if found.next is None:
                self.end("shard end")
                return found.parts, event | {"ChildShards": child_shards(self._stream, self._shard)}
            if not found.parts and not empty:
                return None
            return found.parts, event | {"ContinuationSequenceNumber": self._continuation(now)}

    def _fetch(self, now: int) -> Fetched:
        limits = {"limit": _RECORDS_IN_EVENT, "max_bytes": _DATA_BYTES_IN_EVENT}
        try:
            return fetch(self._stream, self._shard, self._ordinal, now, **limits)
        except (DamagedLogError, OSError) as error:
            raise internal_failure(f"the records could not be read: {error}") from error

    def _continuation(self, now: int) -> str:
        """A number between the last record passed, or the shard's beginning, and whatever comes next."""
        last = self._ordinal - 1
        arrival = self._shard.records.arrival_of(last) or self._shard.state.created
        return sequence_numbers.number(self._shard.prefix, last, max(now, arrival + 1))


class Subscriptions:
    """The subscriptions that run, one for each consumer and shard.

    ``settle`` has a stream be what it was to become by now; ``lock`` is held while it is called.
    """

    def __init__(self, lock: threading.RLock, clock: Clock, settle: Callable[[Stream], None]) -> None:
        self.lock = lock
        self.clock = clock
        self.settle = settle
        self._running: dict[tuple[str, str], Subscription] = {}

    def begin(
        self, stream: Stream, consumer_arn: str, shard_id: str, position: dict[str, Any]
    ) -> Subscription:
        """Subscribe from ``position``; takes over from a subscription that is at least 5 seconds old.

        Raises ResourceInUseException when it is younger, and what a bad shard or position raises.
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
        fresh = Subscription(self, stream, shard, ordinal)
        self._running = {key: sub for key, sub in self._running.items() if sub.ended is None}
        self._running[consumer_arn, shard.id] = fresh
        return fresh

    def running(self, consumer_arn: str) -> list[Subscription]:
        """The subscriptions of a consumer that have not ended."""
        found = (sub for (arn, _), sub in self._running.items() if arn == consumer_arn)
        return [sub for sub in found if sub.ended is None]

    def end(self, arn: str) -> None:
        """End the subscriptions of a consumer, or of all consumers of a stream, that is deleted."""
        for (consumer_arn, _), subscription in self._running.items():
            if consumer_arn == arn or consumer_arn.startswith(f"{arn}/consumer/"):
                subscription.end("deleted")
