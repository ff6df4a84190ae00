"""The recorder: the outermost interceptor of the AWS port, which writes down what the client saw."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Container, Iterable
from hashlib import sha256
from typing import Any, Final, NamedTuple

from emulator.clock import stopwatch
from emulator.http.asgi import ClientGoneError
from emulator.kinesis import KinesisError, Scope
from emulator.kinesis.scope import consumer_of
from emulator.listeners.aws.interception import EventStream, Proceed, Request, Response, stream_named
from sandbox.certify.exchange import Delivery, Exchange, IteratorRequest, Put, PutEntry, Read
from sandbox.certify.gate import PUTS, Gate
from schemas.peek import peek

_WATCHED: Final = frozenset({"GetRecords", "GetShardIterator", "PutRecord", "PutRecords", "SubscribeToShard"})
_PUTS: Final = frozenset({"PutRecord", "PutRecords"})
_SHORT: Final = 12
DISCONNECT: Final = "disconnect"
_UNANSWERED: Final = "unanswered"


class _EveryStream:
    """Contains every stream."""

    def __contains__(self, _stream: object) -> bool:
        return True


_EVERY_STREAM: Final = _EveryStream()


class _Call(NamedTuple):
    """A call of a start of the client, and when it passed the gate."""

    operation: str
    request: Request
    life: int
    asked: float


class Recorder:
    """Hands every exchange to ``note`` as soon as its answer is settled, before the client has it.

    Times are in seconds since ``began``, a reading of the stopwatch. ``life`` tells which start of the client
    is calling; a call belongs to the start during which it came. The calls wait at the gate first.
    """

    def __init__(
        self, note: Callable[[Exchange], None], life: Callable[[], int], began: float, gate: Gate
    ) -> None:
        self._note = note
        self._life = life
        self._began = began
        self._gate = gate
        self._places: dict[str, tuple[str, str]] = {}

    def watches(self, operation: str) -> Container[str] | None:
        return _EVERY_STREAM if operation in _WATCHED else None

    def wants(self, operation: str, _stream: str | None, _iterator: str | None = None) -> bool:
        return operation in _WATCHED

    async def __call__(self, operation: str, request: Request, _scope: Scope, proceed: Proceed) -> Response:
        life = self._life()
        await self._gate.pass_through(self._place(operation, request))
        call, response, error = _Call(operation, request, life, self._now()), None, _UNANSWERED
        try:
            response = await proceed(request)
            error = ""
        except KinesisError as refused:
            error = refused.code
            raise
        except ClientGoneError:
            error = DISCONNECT
            raise
        finally:
            self._write_down(call, response or {}, error)
        if operation == "SubscribeToShard":
            return {**response, "EventStream": self._follow(request, response["EventStream"], life)}
        return response

    def _place(self, operation: str, request: Request) -> str:
        """The place at the gate where a call has to wait."""
        if operation == "GetRecords":
            return self._places.get(request["ShardIterator"], ("", ""))[1]
        return PUTS if operation in _PUTS else ""

    def _now(self) -> float:
        return round(stopwatch() - self._began, 4)

    def _write_down(self, call: _Call, response: Response, error: str) -> None:
        if call.operation == "GetShardIterator":
            self._note(self._iterator_request(call, response, error))
        elif call.operation == "GetRecords":
            self._note(self._read(call, response, error))
        elif call.operation == "SubscribeToShard":
            if error:
                stream, shard = _subscribed(call.request), call.request["ShardId"]
                self._note(Read(self._now(), call.life, stream, shard, pushed=True, error=error))
        else:
            self._note(self._put(call, response, error))

    def _iterator_request(self, call: _Call, response: Response, error: str) -> IteratorRequest:
        request = call.request
        stream, shard = stream_named(request) or "", request["ShardId"]
        if token := response.get("ShardIterator"):
            self._places[token] = (stream, shard)
        after = request.get("StartingSequenceNumber")
        start = request["ShardIteratorType"]
        return IteratorRequest(self._now(), call.life, stream, shard, start, after, error)

    def _read(self, call: _Call, response: Response, error: str) -> Read:
        token = call.request["ShardIterator"]
        stream, shard = self._places.get(token, ("", ""))
        following = response.get("NextShardIterator")
        if following:
            self._places[following] = (stream, shard)
        return Read(
            self._now(),
            call.life,
            stream,
            shard,
            sha256(token.encode()).hexdigest()[:_SHORT],
            _deliveries(response.get("Records", ())),
            ended=not error and not following,
            error=error,
        )

    def _put(self, call: _Call, response: Response, error: str) -> Put:
        batch = call.operation == "PutRecords"
        entries = call.request["Records"] if batch else [call.request]
        answers = response.get("Records") or [{}] * len(entries)
        return Put(
            call.asked,
            self._now(),
            call.life,
            stream_named(call.request) or "",
            tuple(
                _entry(entry, answer.get("ErrorCode", ""))
                for entry, answer in zip(entries, answers, strict=False)
            ),
            batch,
            error,
        )

    async def _follow(
        self, request: Request, events: EventStream, life: int
    ) -> AsyncGenerator[tuple[str, dict[str, Any]], None]:
        stream, shard = _subscribed(request), request["ShardId"]
        async for kind, event in events:
            ended = bool(event.get("ChildShards"))
            records = _deliveries(event.get("Records", ()))
            self._note(Read(self._now(), life, stream, shard, records=records, ended=ended, pushed=True))
            yield kind, event


def _subscribed(request: Request) -> str:
    consumer = consumer_of(request["ConsumerARN"])
    return consumer.stream_arn.rpartition("/")[2] if consumer else ""


def _deliveries(records: Iterable[Request]) -> tuple[Delivery, ...]:
    return tuple(Delivery(each["SequenceNumber"], peek(each["Data"]).message_id) for each in records)


def _entry(entry: Request, error: str) -> PutEntry:
    data: bytes = entry["Data"]
    return PutEntry(
        peek(data).message_id, sha256(data).hexdigest(), len(data), entry.get("PartitionKey", ""), error
    )
