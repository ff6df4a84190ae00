"""The fault engine in front of Kinesis: the interceptor that applies its decisions to decoded calls.

The backend behind it may be the stream engine or a relay.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Container, Iterable, Sequence
from typing import Final

from emulator.clock import Clock
from emulator.faults.engine import FaultEngine
from emulator.faults.fault import Call, Direction, Failure, Kind
from emulator.faults.faulted_message import Message
from emulator.http.asgi import ClientGoneError
from emulator.kinesis.errors import KinesisError
from emulator.kinesis.scope import Scope
from emulator.listeners.aws.fanout import apply_faults
from emulator.listeners.aws.held_reads import HeldRead, HeldReads, Record, is_ours
from emulator.listeners.aws.interception import Proceed, Request, Response, stream_named

_LARGEST_CALL: Final = 4_500_000
_MOST_RECORDS: Final = 10_000
_MOST_HELD: Final = 1_000


class KinesisFaults:
    """Applies the fault engine's decisions to PutRecord, PutRecords, GetRecords and SubscribeToShard.

    ``stream_of_iterator`` names the stream of a backend's shard iterator.
    """

    def __init__(
        self, fault_engine: FaultEngine, clock: Clock, stream_of_iterator: Callable[[str], str | None]
    ) -> None:
        self._fault_engine = fault_engine
        self._clock = clock
        self._stream_of_iterator = stream_of_iterator
        self._held = HeldReads(clock)
        self._publishes = fault_engine.index(Direction.PUBLISH, Kind.KINESIS)
        self._deliveries = fault_engine.index(Direction.DELIVER, Kind.KINESIS)
        self._indexes = {
            "PutRecord": self._publishes,
            "PutRecords": self._publishes,
            "GetRecords": self._deliveries,
            "SubscribeToShard": self._deliveries,
        }

    def watches(self, operation: str) -> Container[str] | None:
        index = self._indexes.get(operation)
        if index is None or index.in_force:
            return index
        return index if operation == "GetRecords" and self._held.awaited else None

    def wants(self, operation: str, stream: str | None, iterator: str | None = None) -> bool:
        index = self._indexes.get(operation)
        if index is None:
            return False
        if operation == "GetRecords" and iterator is not None:
            if is_ours(iterator):
                return True
            stream = self._stream_of_iterator(iterator) if index.in_force else None
        return (stream or "") in index

    async def __call__(self, operation: str, request: Request, _scope: Scope, proceed: Proceed) -> Response:
        if operation == "GetRecords":
            return await self._get_records(request, proceed)
        if operation == "SubscribeToShard":
            response = await proceed(request)
            events = apply_faults(
                self._fault_engine, self._clock, _stream_named(request), response["EventStream"]
            )
            return {**response, "EventStream": events}
        single = operation == "PutRecord"
        return await self._put(request, proceed, [request] if single else request["Records"], single=single)

    # Publishing

    async def _put(
        self, request: Request, proceed: Proceed, entries: Sequence[Request], *, single: bool
    ) -> Response:
        messages = [Message(entry["Data"], entry["PartitionKey"]) for entry in entries]
        call = self._fault_engine.plan_publish(_stream_named(request), Kind.KINESIS, messages, single=single)
        await self._fault_engine.sleep_for(call)
        if call.failure and not call.failure.written:
            raise _raised(call.failure)
        if single:
            response = await self._put_one(call, request, proceed)
        else:
            response = await self._put_batch(call, request, proceed)
        if call.actions:
            await asyncio.to_thread(self._fault_engine.run_actions, call)
        if call.failure:
            raise _raised(call.failure)
        return response

    async def _put_one(self, call: Call, request: Request, proceed: Proceed) -> Response:
        (item,) = call.items
        if item.failure:
            raise _raised(item.failure)
        response: Response = {}
        for _ in range(1 + item.copies):
            response = await proceed({**request, "Data": item.data})
            await asyncio.sleep(0)
        return response

    async def _put_batch(self, call: Call, request: Request, proceed: Proceed) -> Response:
        answers: list[Response] = [
            {"ErrorCode": item.failure.code, "ErrorMessage": item.failure.message} if item.failure else {}
            for item in call.items
        ]
        rest: Response = {}
        places = [at for at, item in enumerate(call.items) if not item.failure]
        while places:
            for some in _chunks(places, lambda at: len(call.items[at].data)):
                entries = [{**request["Records"][at], "Data": call.items[at].data} for at in some]
                rest = await proceed({**request, "Records": entries})
                for at, answer in zip(some, rest["Records"], strict=True):
                    if not answers[at] or "ErrorCode" not in answer:
                        answers[at] = answer
            places = [at for at in places if call.items[at].copies > 0]
            for at in places:
                call.items[at].copies -= 1
            # A hundred copies of a large batch are much work, so other requests get their turn in between.
            await asyncio.sleep(0)
        failed = sum("ErrorCode" in answer for answer in answers)
        return {**rest, "Records": answers, "FailedRecordCount": failed}

    # Delivering

    async def _get_records(self, request: Request, proceed: Proceed) -> Response:
        limit = min(request.get("Limit") or _MOST_RECORDS, _MOST_RECORDS)
        held = self._held.find(request["ShardIterator"])
        if held is None:
            stream = self._stream_of_iterator(request["ShardIterator"]) or ""
            held = HeldRead(stream, request["ShardIterator"])
        response: Response = {"Records": [], "MillisBehindLatest": 0}
        if held.following is not None and len(held.pending) < _MOST_HELD:
            asked = {**request, "ShardIterator": held.following, "Limit": min(limit, _MOST_HELD)}
            try:
                response = await self._fetch(held, asked, proceed)
            except _FoundNothingError:
                return {"Records": [], "NextShardIterator": request["ShardIterator"], "MillisBehindLatest": 1}
        due = held.pending.take(self._clock.time(), limit)
        response["Records"] = [{**each.record, "Data": each.data} for each in due]
        return self._continue(response, held)

    async def _fetch(self, held: HeldRead, request: Request, proceed: Proceed) -> Response:
        """Read on at the backend and apply the faults. Returns the response; its records are ``pending``."""
        response = await proceed(request)
        records: list[Record] = response["Records"]
        if records:
            call = self._fault_engine.plan_delivery(held.stream, Kind.KINESIS, map(_message, records))
            await self._fault_engine.sleep_for(call)
            if call.failure:
                raise _raised(call.failure)
            held.pending.add(zip(call.items, records, strict=True))
        held.following = response.get("NextShardIterator")
        held.children = response.get("ChildShards", [])
        return response

    def _continue(self, response: Response, held: HeldRead) -> Response:
        """Give the client its next iterator: the backend's, or one of ours while records are held back."""
        ends = {"NextShardIterator": held.following, "ChildShards": held.children}
        if len(held.pending):
            ends = {"NextShardIterator": self._held.keep(held)}
            response["MillisBehindLatest"] = max(response.get("MillisBehindLatest", 0), 1)
        kept = {name: value for name, value in response.items() if name not in _ENDS}
        return kept | {name: value for name, value in ends.items() if value}


_ENDS: Final = frozenset({"NextShardIterator", "ChildShards"})


class _FoundNothingError(Exception):
    """A fault makes a read find nothing."""


def _message(record: Record) -> Message:
    return Message(record["Data"], record["PartitionKey"], record["ApproximateArrivalTimestamp"])


def _raised(failure: Failure) -> Exception:
    if failure.kind == "cut":
        return ClientGoneError()
    if failure.kind == "nothing":
        return _FoundNothingError()
    return KinesisError(failure.code, failure.message, failure.status)


def _stream_named(request: Request) -> str:
    return stream_named(request) or ""


def _chunks(places: Iterable[int], weight: Callable[[int], int]) -> Iterable[list[int]]:
    """Group places, in order, so that each group fits one call: faults may have made messages longer."""
    group: list[int] = []
    size = 0
    for place in places:
        if group and size + weight(place) > _LARGEST_CALL:
            yield group
            group, size = [], 0
        group.append(place)
        size += weight(place)
    if group:
        yield group
