"""The recorder: the outermost interceptor of the AWS port, which writes down what the client saw."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Container, Iterable
from hashlib import sha256
from typing import Any, Final

from emulator.clock import stopwatch
from emulator.http.asgi import ClientGoneError
from emulator.kinesis import KinesisError, Scope
from emulator.kinesis.scope import consumer_of
from emulator.listeners.aws.interception import EventStream, Proceed, Request, Response, stream_named
from sandbox.certify.exchange import Delivery, Exchange, IteratorRequest, Put, PutEntry, Read
from schemas.peek import peek

_WATCHED: Final = frozenset({"GetRecords", "GetShardIterator", "PutRecord", "PutRecords", "SubscribeToShard"})
_SHORT: Final = 12
DISCONNECT: Final = "disconnect"


class _EveryStream:
    """Contains every stream."""

    def __contains__(self, _stream: object) -> bool:
        return True


_EVERY_STREAM: Final = _EveryStream()


class Recorder:
    """Hands every exchange to ``note`` as soon as its answer is settled, before the client has it.

    Times are in seconds since ``began``, a reading of the stopwatch. ``life`` tells which start of the client
    is calling.
    """

    def __init__(self, note: Callable[[Exchange], None], life: Callable[[], int], began: float) -> None:
        self._note = note
        self._life = life
        self._began = began
        self._places: dict[str, tuple[str, str]] = {}

    def watches(self, operation: str) -> Container[str] | None:
        return _EVERY_STREAM if operation in _WATCHED else None

    def wants(self, operation: str, _stream: str | None, _iterator: str | None = None) -> bool:
        return operation in _WATCHED

    async def __call__(self, operation: str, request: Request, _scope: Scope, proceed: Proceed) -> Response:
        asked, response, error = self._now(), None, ""
        try:
            response = await proceed(request)
        except KinesisError as refused:
            error = refused.code
            raise
        except ClientGoneError:
            error = DISCONNECT
            raise
        finally:
            self._write_down(operation, request, response or {}, error, asked)
        if operation == "SubscribeToShard":
            return {**response, "EventStream": self._follow(request, response["EventStream"])}
        return response

    def _now(self) -> float:
        return round(stopwatch() - self._began, 4)

    def _write_down(
        self, operation: str, request: Request, response: Response, error: str, asked: float
    ) -> None:
        if operation == "GetShardIterator":
            self._note(self._iterator_request(request, response, error))
        elif operation == "GetRecords":
            self._note(self._read(request, response, error))
        elif operation == "SubscribeToShard":
            if error:
                stream = _subscribed(request)
                self._note(
                    Read(self._now(), self._life(), stream, request["ShardId"], pushed=True, error=error)
                )
        else:
            self._note(self._put(operation, request, response, error, asked))

    def _iterator_request(self, request: Request, response: Response, error: str) -> IteratorRequest:
        stream, shard = stream_named(request) or "", request["ShardId"]
        if token := response.get("ShardIterator"):
            self._places[token] = (stream, shard)
        after = request.get("StartingSequenceNumber")
        start = request["ShardIteratorType"]
        return IteratorRequest(self._now(), self._life(), stream, shard, start, after, error)

    def _read(self, request: Request, response: Response, error: str) -> Read:
        token = request["ShardIterator"]
        stream, shard = self._places.get(token, ("", ""))
        following = response.get("NextShardIterator")
        if following:
            self._places[following] = (stream, shard)
        return Read(
            self._now(),
            self._life(),
            stream,
            shard,
            sha256(token.encode()).hexdigest()[:_SHORT],
            _deliveries(response.get("Records", ())),
            ended=not error and not following,
            error=error,
        )

    def _put(self, operation: str, request: Request, response: Response, error: str, asked: float) -> Put:
        batch = operation == "PutRecords"
        entries = request["Records"] if batch else [request]
        answers = response.get("Records") or [{}] * len(entries)
        return Put(
            asked,
            self._now(),
            self._life(),
            stream_named(request) or "",
            tuple(
                _entry(entry, answer.get("ErrorCode", ""))
                for entry, answer in zip(entries, answers, strict=False)
            ),
            batch,
            error,
        )

    async def _follow(
        self, request: Request, events: EventStream
    ) -> AsyncGenerator[tuple[str, dict[str, Any]], None]:
        stream, shard = _subscribed(request), request["ShardId"]
        async for kind, event in events:
            ended = bool(event.get("ChildShards"))
            records = _deliveries(event.get("Records", ()))
            if records or ended:
                self._note(
                    Read(
                        self._now(),
                        self._life(),
                        stream,
                        shard,
                        records=records,
                        ended=ended,
                        pushed=True,
                    )
                )
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
