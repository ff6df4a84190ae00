"""What can be learned from the Kinesis calls that pass a relay, without being asked for anything."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Final

import cbor2
import msgspec

from emulator.listeners.aws.error_bodies import CBOR_1_1
from emulator.listeners.aws.interception import peek_stream, stream_named

_PUTS: Final = frozenset({"PutRecord", "PutRecords"})
_READS: Final = frozenset({"GetShardIterator", "GetRecords"})
_RESHAPING: Final = frozenset(
    {"CreateStream", "DeleteStream", "SplitShard", "MergeShards", "UpdateShardCount"}
)
_MOST_ITERATORS: Final = 10_000


class _Put(msgspec.Struct):
    ShardId: str | None = None
    SequenceNumber: str | None = None


class _PutAnswer(_Put):
    Records: list[_Put] = []


class _Iterator(msgspec.Struct):
    ShardIterator: str | None = None
    NextShardIterator: str | None = None


_read_put: Final = msgspec.json.Decoder(_PutAnswer).decode
_read_iterator: Final = msgspec.json.Decoder(_Iterator).decode


class Traffic:
    """Keeps which stream an iterator is of, and tells of records that were put and of changed shards.

    ``put(stream, [(shard id, sequence number)])`` is called for the records of a call that
    the upstream acknowledged, ``reshaped()`` after a stream was made, resharded or deleted.
    """

    operations = _PUTS | _READS | _RESHAPING

    def __init__(
        self, put: Callable[[str, list[tuple[str, str]]], None], reshaped: Callable[[], None]
    ) -> None:
        self._put = put
        self._reshaped = reshaped
        self._streams: OrderedDict[str, str] = OrderedDict()

    def stream_of_iterator(self, iterator: str) -> str | None:
        """The stream of an iterator that was given out through here; None for any other."""
        return self._streams.get(iterator)

    def passed(self, operation: str, headers: dict[bytes, bytes], body: bytes, answer: bytes) -> None:
        """Learn from a call that succeeded. What cannot be read teaches nothing."""
        try:
            if headers.get(b"content-type", b"").startswith(CBOR_1_1):
                self.called(operation, cbor2.loads(body), cbor2.loads(answer) if answer else {})
            elif operation in _PUTS:
                self._noted(peek_stream(body), _read_put(answer))
            elif operation in _READS:
                asked, given = _read_iterator(body), _read_iterator(answer)
                self._located(peek_stream(body), asked.ShardIterator, given)
            else:
                self._reshaped()
        except (msgspec.DecodeError, cbor2.CBORError, UnicodeDecodeError, RecursionError):
            return

    def called(self, operation: str, request: dict[str, Any], response: dict[str, Any]) -> None:
        """Learn from a call in botocore's shapes that succeeded."""
        if operation in _PUTS:
            records = [_Put(r.get("ShardId"), r.get("SequenceNumber")) for r in response.get("Records", ())]
            single = response.get("ShardId"), response.get("SequenceNumber")
            self._noted(stream_named(request), _PutAnswer(*single, records))
        elif operation in _READS:
            given = _Iterator(response.get("ShardIterator"), response.get("NextShardIterator"))
            self._located(stream_named(request), request.get("ShardIterator"), given)
        elif operation in _RESHAPING:
            self._reshaped()

    def _noted(self, stream: str | None, answer: _PutAnswer) -> None:
        if stream is None:
            return
        records = answer.Records or [answer]
        self._put(stream, [(r.ShardId, r.SequenceNumber) for r in records if r.ShardId and r.SequenceNumber])

    def _located(self, named: str | None, asked: str | None, given: _Iterator) -> None:
        stream = named or self._streams.get(asked or "")
        iterator = given.NextShardIterator or given.ShardIterator
        if stream and iterator:
            self._streams[iterator] = stream
            if len(self._streams) > _MOST_ITERATORS:
                self._streams.popitem(last=False)
