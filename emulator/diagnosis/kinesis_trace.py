"""Calls of Kinesis as items of a trace, with the messageIds of their records."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from typing import Any, Final, TypeAlias

from emulator.diagnosis.lab_trace import Trace
from emulator.http.asgi import ClientGoneError
from emulator.kinesis import KinesisError
from emulator.kinesis.scope import stream_named
from rdss_sandbox.shapes.trace import (
    DISCONNECT,
    UNANSWERED,
    Delivery,
    IteratorRequest,
    Put,
    PutEntry,
    Read,
    TraceItem,
)

_SHORT: Final = 12
_NOWHERE: Final = ("", "")

Shape: TypeAlias = dict[str, Any]


class KinesisTrace:
    """Turns each call, and each event of a subscription, into an item of ``trace``."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self._places: dict[str, tuple[str, str]] = {}

    def find_shard(self, iterator: str) -> str:
        """The shard of an iterator that was given out; empty for an unknown one."""
        return self._places.get(iterator, _NOWHERE)[1]

    def note_call(
        self, operation: str, request: Shape, response: Shape, asked: float, error: str = ""
    ) -> None:
        """Note a call that came at the moment ``asked``, and was answered, refused or cut off."""
        trace = self.trace
        trace.note_request()
        came = trace.time_of(asked)
        life = trace.life_at(came)
        item: TraceItem | None = None
        if operation == "GetShardIterator":
            item = self._build_iterator_request(request, response, life, error)
        elif operation == "GetRecords":
            item = self._build_read(request, response, life, error)
        elif operation in {"PutRecord", "PutRecords"}:
            item = self._build_put(request, response, came, life, error)
        elif operation == "SubscribeToShard" and error:
            item = Read(trace.now, life, *_find_place(request), pushed=True, error=error)
        if item is not None:
            trace.note_item(item)

    def note_event(self, request: Shape, event: Shape, asked: float) -> None:
        """Note an event of a subscription that was asked for at the moment ``asked``."""
        trace = self.trace
        life = trace.life_at(trace.time_of(asked))
        records, ended = self._list_deliveries(event.get("Records", ())), bool(event.get("ChildShards"))
        trace.note_item(
            Read(trace.now, life, *_find_place(request), records=records, ended=ended, pushed=True)
        )

    def _build_iterator_request(
        self, request: Shape, response: Shape, life: int, error: str
    ) -> IteratorRequest:
        place = _find_place(request)
        if token := response.get("ShardIterator"):
            self._places[token] = place
        start, after = request.get("ShardIteratorType", ""), request.get("StartingSequenceNumber")
        return IteratorRequest(self.trace.now, life, *place, start, after, error)

    def _build_read(self, request: Shape, response: Shape, life: int, error: str) -> Read:
        token, following = request.get("ShardIterator", ""), response.get("NextShardIterator")
        place = self._places.get(token, _NOWHERE)
        if following:
            self._places[following] = place
        return Read(
            self.trace.now,
            life,
            *place,
            sha256(token.encode()).hexdigest()[:_SHORT],
            self._list_deliveries(response.get("Records", ())),
            ended=not error and not following,
            error=error,
        )

    def _build_put(self, request: Shape, response: Shape, came: float, life: int, error: str) -> Put:
        entries = request.get("Records", (request,))
        # PutRecord has no list of answers, and a call that was refused has none at all.
        answers = response.get("Records") or [{}] * len(entries)
        return Put(
            came,
            self.trace.now,
            life,
            stream_named(request) or "",
            tuple(
                self._build_entry(entry, answer.get("ErrorCode", ""))
                for entry, answer in zip(entries, answers, strict=False)
            ),
            "Records" in request,
            error,
        )

    def _build_entry(self, entry: Shape, error: str) -> PutEntry:
        # A refused request may lack what it has to have.
        data: bytes = entry.get("Data") or b""
        key: str = entry.get("PartitionKey", "")
        return PutEntry(self.trace.identify(data, key), sha256(data).hexdigest(), len(data), key, error)

    def _list_deliveries(self, records: Iterable[Shape]) -> tuple[Delivery, ...]:
        return tuple(
            Delivery(each["SequenceNumber"], self.trace.identify(each["Data"], each["PartitionKey"]))
            for each in records
        )


def find_code(error: BaseException) -> str:
    """The error of an item whose call ended like this."""
    if isinstance(error, KinesisError):
        return error.code
    return DISCONNECT if isinstance(error, ClientGoneError) else UNANSWERED


def _find_place(request: Shape) -> tuple[str, str]:
    """The stream and the shard that a request names; empty for what it lacks."""
    return stream_named(request) or "", request.get("ShardId", "")
