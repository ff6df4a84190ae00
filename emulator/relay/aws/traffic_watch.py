"""Learns from the Kinesis calls that pass a relay: puts, iterators, and changes of streams."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Final

import cbor2
import msgspec

from emulator.kinesis.scope import stream_named
from emulator.listeners.aws.error_bodies import CBOR_1_1
from emulator.listeners.aws.interception import peek_stream

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
    """Remembers the stream of each iterator, and reports puts and changed shards.

    ``put(stream, [(shard id, sequence number)])`` is called for the records that the upstream
    acknowledged, and ``reshaped()`` after a stream was created, resharded or deleted.
    """

    operations = _PUTS | _READS | _RESHAPING

    def __init__(
        self, put: Callable[[str, list[tuple[str, str]]], None], reshaped: Callable[[], None]
    ) -> None:
        self._on_puts = put
        self._on_reshaped = reshaped
        self._streams: OrderedDict[str, str] = OrderedDict()

    def stream_of_iterator(self, iterator: str) -> str | None:
        """The stream of an iterator that passed the relay; None for any other."""
        return self._streams.get(iterator)

    def learn_from_bytes(
        self, operation: str, headers: dict[bytes, bytes], body: bytes, answer: bytes
    ) -> None:
        """Learn from the bodies of a call that succeeded. A body that cannot be parsed is ignored."""
        try:
            if headers.get(b"content-type", b"").startswith(CBOR_1_1):
                self.learn_from_call(operation, cbor2.loads(body), cbor2.loads(answer) if answer else {})
            elif operation in _PUTS:
                self._note_puts(peek_stream(body), _read_put(answer))
            elif operation in _READS:
                asked, given = _read_iterator(body), _read_iterator(answer)
                self._note_iterator(peek_stream(body), asked.ShardIterator, given)
            else:
                self._on_reshaped()
        except (msgspec.DecodeError, cbor2.CBORError, UnicodeDecodeError, RecursionError):
            return

    def learn_from_call(self, operation: str, request: dict[str, Any], response: dict[str, Any]) -> None:
        """Learn from a call that succeeded, with botocore's shapes."""
        if operation in _PUTS:
            records = [_Put(r.get("ShardId"), r.get("SequenceNumber")) for r in response.get("Records", ())]
            single = response.get("ShardId"), response.get("SequenceNumber")
            self._note_puts(stream_named(request), _PutAnswer(*single, records))
        elif operation in _READS:
            given = _Iterator(response.get("ShardIterator"), response.get("NextShardIterator"))
            self._note_iterator(stream_named(request), request.get("ShardIterator"), given)
        elif operation in _RESHAPING:
            self._on_reshaped()

    def _note_puts(self, stream: str | None, answer: _PutAnswer) -> None:
        if stream is None:
            return
        records = answer.Records or [answer]
        self._on_puts(
            stream, [(r.ShardId, r.SequenceNumber) for r in records if r.ShardId and r.SequenceNumber]
        )

    def _note_iterator(self, named: str | None, asked: str | None, given: _Iterator) -> None:
        stream = named or self._streams.get(asked or "")
        iterator = given.NextShardIterator or given.ShardIterator
        if stream and iterator:
            self._streams[iterator] = stream
            if len(self._streams) > _MOST_ITERATORS:
                self._streams.popitem(last=False)
