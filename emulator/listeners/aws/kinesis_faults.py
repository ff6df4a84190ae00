"""The faults in front of Kinesis: the interceptor that applies them to decoded calls.

The backend behind it may be the stream engine or a relay.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Container
from typing import Any, Final, TypeAlias

from emulator.clock import Clock
from emulator.faults.delayed_deliveries import Due
from emulator.faults.fault import THROTTLED, Failure
from emulator.faults.fault_engine import FaultEngine
from emulator.faults.fault_point import CallFailedError, FaultPoint
from emulator.faults.faulted_message import Message
from emulator.faults.held_deliveries import Form, HeldDeliveries
from emulator.faults.waits import OnLoop
from emulator.http.asgi import ClientGoneError
from emulator.kinesis.errors import KinesisError
from emulator.kinesis.scope import Scope, stream_named
from emulator.listeners.aws.faulted_puts import build_error, put_record, put_records
from emulator.listeners.aws.held_reads import HeldRead, HeldReads, Record, is_ours
from emulator.listeners.aws.interception import Proceed, Request, Response

_MOST_RECORDS: Final = 10_000
_MOST_HELD: Final = 1_000
_EXPIRED: Final = "ExpiredIteratorException"
_IN_STREAM: Final = "InternalFailureException"
"""The name of InternalFailure among the exceptions of SubscribeToShardEventStream."""


class KinesisFaults:
    """Applies the fault engine's decisions to PutRecord, PutRecords, GetRecords and SubscribeToShard.

    ``stream_of_iterator`` names the stream of a backend's shard iterator.
    """

    def __init__(
        self, fault_engine: FaultEngine, clock: Clock, stream_of_iterator: Callable[[str], str | None]
    ) -> None:
        self._point = FaultPoint(fault_engine, clock, "kinesis", OnLoop(clock))
        self._stream_of_iterator = stream_of_iterator
        self._reads = HeldReads(clock)
        self._throttled: set[tuple[str, str]] = set()
        self._indexes = {
            "PutRecord": self._point.publishes,
            "PutRecords": self._point.publishes,
            "GetRecords": self._point.deliveries,
            "SubscribeToShard": self._point.deliveries,
        }

    def watches(self, operation: str) -> Container[str] | None:
        index = self._indexes.get(operation)
        if index is None or index.in_force:
            return index
        return index if operation == "GetRecords" and self._reads.awaited else None

    def wants(self, operation: str, stream: str | None, iterator: str | None = None) -> bool:
        index = self._indexes.get(operation)
        if index is None:
            return False
        if operation == "SubscribeToShard":
            # A subscription lasts, and a fault may come into force meanwhile.
            return True
        if operation == "GetRecords" and iterator is not None:
            if is_ours(iterator):
                return True
            stream = self._stream_of_iterator(iterator) if index.in_force else None
        return (stream or "") in index

    async def __call__(self, operation: str, request: Request, _scope: Scope, proceed: Proceed) -> Response:
        if operation == "GetRecords":
            return await self._get_records(request, proceed)
        if operation == "SubscribeToShard":
            return await self._subscribe(request, proceed)
        if operation == "PutRecord":
            return await put_record(self._point, request, proceed)
        return await put_records(self._point, request, proceed)

    async def _subscribe(self, request: Request, proceed: Proceed) -> Response:
        place = request["ConsumerARN"], request["ShardId"]
        if place in self._throttled:
            self._throttled.discard(place)
            raise KinesisError("LimitExceededException", f"Rate exceeded for consumer {place[0]}.")
        response = await proceed(request)
        stream = stream_named(request) or ""
        events = apply_faults(
            self._hold(stream),
            lambda: stream in self._point.deliveries,
            response["EventStream"],
            lambda: self._throttled.add(place),
        )
        return {**response, "EventStream": events}

    async def _get_records(self, request: Request, proceed: Proceed) -> Response:
        iterator = request["ShardIterator"]
        limit = min(request.get("Limit") or _MOST_RECORDS, _MOST_RECORDS)
        read = self._reads.find(iterator)
        if read is None:
            read = HeldRead(self._hold(self._stream_of_iterator(iterator)), iterator)
        response: Response = {"MillisBehindLatest": 0}
        if read.following is not None and len(read.held) < _MOST_HELD:
            asked = {**request, "ShardIterator": read.following, "Limit": min(limit, _MOST_HELD)}
            response = await proceed(asked)
            read.held.add(response["Records"])
            read.following = response.get("NextShardIterator")
            read.children = response.get("ChildShards", [])
            try:
                await read.held.meet()
            except CallFailedError as failed:
                if failed.failure.kind == "nothing":
                    return {"Records": [], "NextShardIterator": iterator, "MillisBehindLatest": 1}
                raise build_error(failed.failure) from failed
        records = [_render(each) for each in read.held.take(limit)]
        return self._continue({**response, "Records": records}, read)

    def _continue(self, response: Response, read: HeldRead) -> Response:
        """Give the client its next iterator: the backend's, or one of ours while records are held back."""
        ends = {"NextShardIterator": read.following, "ChildShards": read.children}
        if len(read.held):
            ends = {"NextShardIterator": self._reads.keep(read), "ChildShards": []}
            response["MillisBehindLatest"] = max(response.get("MillisBehindLatest", 0), 1)
        return {name: value for name, value in (response | ends).items() if value or name not in ends}

    def _hold(self, stream: str | None) -> HeldDeliveries[Record]:
        return HeldDeliveries(self._point, Form(lambda _: stream or "", _message))


def _message(record: Record) -> Message:
    return Message(record["Data"], record["PartitionKey"], record["ApproximateArrivalTimestamp"])


def _render(due: Due[Record]) -> Record:
    return {**due.record, "Data": due.data, "ApproximateArrivalTimestamp": due.arrived}


Event: TypeAlias = dict[str, Any]
Events: TypeAlias = AsyncIterator[tuple[str, Event]]

_CONTINUATION = "ContinuationSequenceNumber"


async def apply_faults(
    held: HeldDeliveries[Event],
    may_strike: Callable[[], bool],
    events: Events,
    throttle: Callable[[], object] = lambda: None,
) -> Events:
    """Apply the deliver faults to the records of a subscription's events, while they ``may_strike``.

    A fault that makes a read fail ends the subscription, and the consumer subscribes again after the last
    record that it got: see ``_end``, which gets ``throttle``. Records that are held back come with a
    later event, at the latest with the last event of a closed shard. While records are held back,
    ContinuationSequenceNumber stays before them, so that a consumer that subscribes again loses none.
    """
    safe: str | None = None
    async for kind, event in events:
        if not len(held) and not may_strike():
            safe = event.get(_CONTINUATION)
            yield kind, event
            continue
        held.add(event.get("Records", ()))
        try:
            await held.meet()
        except CallFailedError as failed:
            _end(failed.failure, throttle)
            return
        rest = held.copy()
        due = rest.take(len(rest)) if _CONTINUATION in event else rest.drop()
        if len(rest) and safe is None:
            continue
        held = rest
        answer = {**event, "Records": [_render(each) for each in due]}
        if len(rest):
            answer[_CONTINUATION] = safe
        else:
            safe = event.get(_CONTINUATION)
        yield kind, answer


def _end(failure: Failure, throttle: Callable[[], object]) -> None:
    """End a subscription as a failure of its kind does.

    An error comes as an exception inside the event stream, a cut closes the connection, and a subscription
    for which an iterator would be too old simply ends. For lack of throughput it ends too, and ``throttle``
    has the next call of SubscribeToShard refused. Raises KinesisError or ``asgi.ClientGoneError``.
    """
    if failure.kind == "cut":
        raise ClientGoneError
    if failure.code == THROTTLED:
        throttle()
    elif failure.code != _EXPIRED and failure.kind == "error":
        code = _IN_STREAM if failure.code == "InternalFailure" else failure.code
        raise KinesisError(code, failure.message, failure.status)
