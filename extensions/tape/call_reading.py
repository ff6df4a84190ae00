"""Reads calls of Kinesis as entries of a tape."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Any, Final

import cbor2
import msgspec

from emulator.kinesis.scope import stream_named
from rdss_sandbox.shapes.recordings import KinesisCall, Passed
from rdss_sandbox.shapes.tape import TapedMessage, TapedRead, TapedRefusal, TapeEntry

_CBOR: Final = "application/x-amz-cbor-1.1"
_PUTS: Final = frozenset({"PutRecord", "PutRecords"})
_READS: Final = frozenset({"GetShardIterator", "GetRecords"})
_MOST_ITERATORS: Final = 100_000


class _Entry(msgspec.Struct):
    Data: bytes = b""
    PartitionKey: str = ""


class _Request(_Entry):
    StreamName: str | None = None
    StreamARN: str | None = None
    Records: list[_Entry] | None = None
    ShardId: str | None = None
    ShardIteratorType: str | None = None
    ShardIterator: str | None = None


class _Result(msgspec.Struct):
    ShardId: str | None = None
    SequenceNumber: str | None = None
    ErrorCode: str | None = None


class _Response(_Result):
    Records: list[_Result] | None = None
    ShardIterator: str | None = None
    NextShardIterator: str | None = None
    code: str | None = msgspec.field(name="__type", default=None)


_read_request: Final = msgspec.json.Decoder(_Request).decode
_read_response: Final = msgspec.json.Decoder(_Response).decode


class CallReader:
    """Turns what passed into entries; it remembers which shard each iterator reads.

    ``reshaped`` says that a call changed the shards of a stream, or put to a shard that was not known.
    """

    def __init__(self) -> None:
        self.reshaped = False
        self._known: dict[str, frozenset[str]] = {}
        self._places: OrderedDict[str, tuple[str, str]] = OrderedDict()

    def read(self, passed: Passed) -> Iterator[TapeEntry]:
        """Give the entries of what passed: none of a call that cannot be read."""
        if not isinstance(passed, KinesisCall):
            yield passed
            return
        try:
            request, response = _parse(passed)
        except (ValueError, TypeError, cbor2.CBORError, RecursionError):
            return
        if passed.operation in _PUTS:
            yield from self._read_put(passed, request, response)
        elif passed.operation in _READS:
            yield self._read_reading(passed, request, response)
        elif passed.status == 200:
            self.reshaped = True
        else:
            yield _refuse(passed, _name(request), response)

    def note_shards(self, stream: str, shards: Iterable[str]) -> None:
        """Note the shards that a stream has now, open or closed."""
        self._known[stream] = frozenset(shards)

    def _read_put(self, call: KinesisCall, request: _Request, response: _Response) -> Iterator[TapeEntry]:
        stream = _name(request)
        entries = [request] if request.Records is None else request.Records
        if call.status != 200:
            yield msgspec.structs.replace(
                _refuse(call, stream, response), records=len(entries), of=len(entries)
            )
            return
        results = [response] if response.Records is None else response.Records
        codes: dict[str, int] = {}
        known = self._known.get(stream, frozenset())
        for entry, result in zip(entries, results, strict=False):
            if result.ErrorCode:
                codes[result.ErrorCode] = codes.get(result.ErrorCode, 0) + 1
                continue
            shard = result.ShardId or ""
            self.reshaped = self.reshaped or shard not in known
            yield TapedMessage(
                call.at, stream, entry.Data, len(entry.Data), entry.PartitionKey, shard,
                result.SequenceNumber or "", call.latency, call.client,
            )  # fmt: skip
        for code, count in codes.items():
            yield TapedRefusal(
                call.at, stream, call.operation, code, call.client,
                records=count, of=len(entries), latency=call.latency,
            )  # fmt: skip

    def _read_reading(self, call: KinesisCall, request: _Request, response: _Response) -> TapeEntry:
        stream, shard = _name(request), request.ShardId or ""
        if request.ShardIterator:
            stream, shard = self._places.get(request.ShardIterator, (call.stream, ""))
        if call.status != 200:
            return msgspec.structs.replace(_refuse(call, stream, response), shard=shard)
        following = response.ShardIterator or response.NextShardIterator
        if following:
            self._places[following] = stream, shard
            if len(self._places) > _MOST_ITERATORS:
                self._places.popitem(last=False)
        return TapedRead(
            call.at, stream, call.operation, call.client, shard, request.ShardIteratorType or "",
            call.records, call.size, ended=not following, latency=call.latency,
        )  # fmt: skip


def _name(request: _Request) -> str:
    return stream_named({"StreamName": request.StreamName, "StreamARN": request.StreamARN}) or ""


def _refuse(call: KinesisCall, stream: str, response: _Response) -> TapedRefusal:
    code = (response.code or "InternalFailure").rpartition("#")[2]
    return TapedRefusal(call.at, stream, call.operation, code, call.client, latency=call.latency)


def _parse(call: KinesisCall) -> tuple[_Request, _Response]:
    # What is left of an answer to GetRecords is JSON, whatever the client spoke.
    if call.content_type.startswith(_CBOR) and not (call.operation == "GetRecords" and call.status == 200):
        return _convert(call.body, _Request), _convert(call.answer, _Response)
    return _read_request(call.body), _read_response(call.answer or b"{}")


def _convert(raw: bytes, shape: type[Any]) -> Any:
    return msgspec.convert(cbor2.loads(raw) if raw else {}, shape, strict=False)
