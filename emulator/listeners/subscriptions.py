"""SubscribeToShard: a shard's records pushed to a registered consumer for five minutes of the clock."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import Any, NamedTuple

from emulator.clock import Clock
from emulator.kinesis import Engine, KinesisError, Scope, iterators, sequence_numbers
from emulator.kinesis.scope import consumer_of, stream_of
from emulator.listeners.interception import EventStream, Request, Response

LIFETIME_SECONDS = 300.0
EXCLUSIVE_SECONDS = 5.0
EVENT = "SubscribeToShardEvent"

# KCL takes a subscription that says nothing for 35 seconds for a dead one.
_HEARTBEAT_SECONDS = 5.0
_RECORDS_IN_EVENT = 2_000


class _Shard(NamedTuple):
    scope: Scope
    stream_arn: str
    stream: str
    id: str


class _Seat:
    """The one subscription that a consumer has to a shard; ``taken`` in elapsed seconds of the clock."""

    def __init__(self, taken: float) -> None:
        self.taken = taken
        self.over = False
        self.woken = asyncio.Event()

    def end(self) -> None:
        self.over = True
        self.woken.set()


class Subscriptions:
    """The open subscriptions to an engine's shards."""

    def __init__(self, engine: Engine, clock: Clock) -> None:
        self._engine = engine
        self._clock = clock
        self._seats: dict[tuple[str, str], _Seat] = {}
        self._listening: defaultdict[tuple[str, str], set[_Seat]] = defaultdict(set)
        self._loop: asyncio.AbstractEventLoop | None = None

    def open(self, request: Request, scope: Scope) -> EventStream:
        """Open a subscription and end an older one of the same consumer to the same shard.

        Raises KinesisError: ResourceNotFoundException for a consumer, stream or
        shard that is not there, ResourceInUseException while the consumer is not
        ACTIVE and within five seconds of its last subscription.
        """
        stream_arn = self._stream_of_active(request["ConsumerARN"], scope)
        named = stream_of(stream_arn)
        assert named is not None
        shard = _Shard(named[0], stream_arn, named[1], request["ShardId"])
        place = _placed(shard, request["StartingPosition"])
        iterator = self._engine.call("GetShardIterator", place, shard.scope)["ShardIterator"]
        seat = self._take_seat(request["ConsumerARN"], shard.id)
        return self._events(shard, iterator, seat)

    def _stream_of_active(self, consumer_arn: str, scope: Scope) -> str:
        described = self._engine.call("DescribeStreamConsumer", {"ConsumerARN": consumer_arn}, scope)
        if described["ConsumerDescription"]["ConsumerStatus"] != "ACTIVE":
            raise KinesisError("ResourceInUseException", f"Consumer {consumer_arn} is not ACTIVE.")
        consumer = consumer_of(consumer_arn)
        assert consumer is not None
        return consumer.stream_arn

    def _take_seat(self, consumer_arn: str, shard_id: str) -> _Seat:
        now = self._clock.elapsed()
        former = self._seats.get((consumer_arn, shard_id))
        if former and now - former.taken < EXCLUSIVE_SECONDS:
            raise KinesisError(
                "ResourceInUseException",
                f"Another active subscription exists for this consumer: {consumer_arn} to shard {shard_id}.",
            )
        if former:
            former.end()
        seat = self._seats[consumer_arn, shard_id] = _Seat(now)
        return seat

    async def _events(self, shard: _Shard, iterator: str, seat: _Seat) -> EventStream:
        lifetime = asyncio.ensure_future(self._clock.sleep(LIFETIME_SECONDS))
        lifetime.add_done_callback(lambda _: seat.end())
        listening = self._listening_seats(shard)
        listening.add(seat)
        reached = self._reached(shard, iterator)
        try:
            while not seat.over:
                seat.woken.clear()
                answer = self._read(shard, iterator)
                if answer["Records"]:
                    reached = answer["Records"][-1]["SequenceNumber"]
                yield EVENT, _event(answer, reached)
                if "NextShardIterator" not in answer:
                    return
                iterator = answer["NextShardIterator"]
                if not answer["Records"]:
                    await _set_within(seat.woken, _HEARTBEAT_SECONDS)
        finally:
            lifetime.cancel()
            listening.discard(seat)

    def _read(self, shard: _Shard, iterator: str) -> Response:
        request = {"ShardIterator": iterator, "Limit": _RECORDS_IN_EVENT, "StreamARN": shard.stream_arn}
        return self._engine.call("GetRecords", request, shard.scope)

    def _reached(self, shard: _Shard, iterator: str) -> str:
        """The sequence number just before what the iterator reads next."""
        place = iterators.read(iterator, round(self._clock.time() * 1000))
        described = self._engine.call("ListShards", {"StreamARN": shard.stream_arn}, shard.scope)
        (found,) = (view for view in described["Shards"] if view["ShardId"] == shard.id)
        start = sequence_numbers.position(found["SequenceNumberRange"]["StartingSequenceNumber"])
        assert start is not None
        return sequence_numbers.number(start.prefix, max(0, place.ordinal - 1), start.arrival)

    def _listening_seats(self, shard: _Shard) -> set[_Seat]:
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            self._engine.on_records(self._on_records)
        return self._listening[shard.stream, shard.id]

    def _on_records(self, stream: str, shard_id: str) -> None:
        if self._loop and self._listening.get((stream, shard_id)):
            self._loop.call_soon_threadsafe(self._wake, stream, shard_id)

    def _wake(self, stream: str, shard_id: str) -> None:
        for seat in self._listening[stream, shard_id]:
            seat.woken.set()


def _placed(shard: _Shard, position: dict[str, Any]) -> Request:
    """The request for an iterator at a StartingPosition."""
    request = {"StreamARN": shard.stream_arn, "ShardId": shard.id, "ShardIteratorType": position["Type"]}
    if "SequenceNumber" in position:
        request["StartingSequenceNumber"] = position["SequenceNumber"]
    if "Timestamp" in position:
        request["Timestamp"] = position["Timestamp"]
    return request


def _event(answer: Response, reached: str) -> Response:
    """One event; at the end of a closed shard it names the child shards and nothing to continue from."""
    event = {"Records": answer["Records"], "MillisBehindLatest": answer["MillisBehindLatest"]}
    if "NextShardIterator" in answer:
        return event | {"ContinuationSequenceNumber": reached}
    return event | {"ChildShards": answer["ChildShards"]}


async def _set_within(event: asyncio.Event, seconds: float) -> None:
    waiting = asyncio.ensure_future(event.wait())
    await asyncio.wait((waiting,), timeout=seconds)
    waiting.cancel()
