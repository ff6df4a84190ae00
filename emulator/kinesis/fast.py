"""Byte-level paths for the three hot operations: base64 is never decoded and no record becomes a dict.

They answer what is plainly in order. Whatever is not raises ``NotFast``, and
the full path gives the verdict, so that there is one verdict for both.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from emulator.kinesis import hash_keys
from emulator.kinesis.errors import KinesisError, NotFast, internal_failure
from emulator.kinesis.operations.records import DEFAULT_LIMIT, encryption, iterator, place, writable
from emulator.kinesis.reads import Fetched, child_shards, fetch
from emulator.kinesis.records import data_size, joined
from emulator.kinesis.registry import Registry
from emulator.kinesis.scope import Scope
from emulator.kinesis.stream import Shard, Stream
from emulator.kinesis.writes import Entry, Written

_MAX_BODY_BYTES = 12 * 1024 * 1024
_MAX_KEY_BYTES = 1024

Name = Annotated[str, msgspec.Meta(pattern=r"\A[a-zA-Z0-9_.-]{1,128}\Z")]
Key = Annotated[str, msgspec.Meta(min_length=1, max_length=256)]
HashKey = Annotated[str, msgspec.Meta(pattern=r"\A(0|[1-9][0-9]{0,38})\Z")]


class _Entry(Entry, forbid_unknown_fields=True, gc=False):
    PartitionKey: Key
    ExplicitHashKey: HashKey | None = None


class _PutRecords(msgspec.Struct, forbid_unknown_fields=True):
    Records: Annotated[list[_Entry], msgspec.Meta(min_length=1, max_length=500)]
    StreamName: Name | None = None
    StreamARN: str | None = None


class _PutRecord(msgspec.Struct, forbid_unknown_fields=True):
    Data: msgspec.Raw
    PartitionKey: Key
    ExplicitHashKey: HashKey | None = None
    StreamName: Name | None = None
    StreamARN: str | None = None


class _GetRecords(msgspec.Struct, forbid_unknown_fields=True):
    ShardIterator: Annotated[str, msgspec.Meta(min_length=1, max_length=512)]
    Limit: Annotated[int, msgspec.Meta(ge=1, le=10_000)] | None = None
    StreamARN: str | None = None


_decode_put_records = msgspec.json.Decoder(_PutRecords).decode
_decode_put_record = msgspec.json.Decoder(_PutRecord).decode
_decode_get_records = msgspec.json.Decoder(_GetRecords).decode

_BASE64 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_KINDS = bytes(
    0x41 if byte in _BASE64 else byte if byte in b'="' else 0x21 for byte in range(256)
)  # a digit of base64 becomes A; quote and padding stay; all else becomes !


def put_records(registry: Registry, body: bytes, scope: Scope) -> bytes:
    """PutRecords: the request's JSON to the answer's. Raises ``NotFast`` and InternalFailure."""
    if len(body) > _MAX_BODY_BYTES:
        raise NotFast
    try:
        request = _decode_put_records(body)
    except msgspec.DecodeError as error:
        raise NotFast from error
    written, stream = _write(registry, request, list(request.Records), scope)
    if written.failed == len(written.answers):
        raise internal_failure(written.reason)
    return b'{"FailedRecordCount":%d,"Records":[%b]%b}' % (
        written.failed,
        b",".join(written.answers),
        _encryption(stream),
    )


def put_record(registry: Registry, body: bytes, scope: Scope) -> bytes:
    """PutRecord: the request's JSON to the answer's. Raises ``NotFast`` and InternalFailure."""
    if len(body) > _MAX_BODY_BYTES:
        raise NotFast
    try:
        request = _decode_put_record(body)
    except msgspec.DecodeError as error:
        raise NotFast from error
    entry = Entry(request.Data, request.PartitionKey, request.ExplicitHashKey)
    written, stream = _write(registry, request, [entry], scope)
    if written.failed:
        raise internal_failure(written.reason)
    return b"%b%b}" % (written.answers[0][:-1], _encryption(stream))


def get_records(registry: Registry, body: bytes, scope: Scope) -> tuple[Stream, Shard, Fetched, int]:
    """GetRecords as far as it needs the lock: what to ``render``, and the time in ms. Raises ``NotFast``."""
    try:
        request = _decode_get_records(body)
        found = {"ShardIterator": request.ShardIterator, "StreamARN": request.StreamARN}
        stream, shard, ordinal = place(registry, found, scope)
    except (msgspec.DecodeError, KinesisError) as error:
        raise NotFast from error
    now = registry.now_ms()
    return stream, shard, fetch(stream, shard, ordinal, request.Limit or DEFAULT_LIMIT, now), now


def render(stream: Stream, shard: Shard, fetched: Fetched, now: int) -> bytes:
    """The answer of GetRecords: kept lines, as they are kept."""
    if fetched.next is None:
        tail = b'"ChildShards":' + msgspec.json.encode(child_shards(stream, shard))
    else:
        tail = b'"NextShardIterator":"%b"' % iterator(stream, shard, fetched.next, now).encode()
    return b'{"Records":[%b],"MillisBehindLatest":%d,%b}' % (
        joined(fetched.parts),
        fetched.millis_behind,
        tail,
    )


def _write(
    registry: Registry, request: _PutRecords | _PutRecord, entries: list[Entry], scope: Scope
) -> tuple[Written, Stream]:
    named: dict[str, Any] = {"StreamName": request.StreamName, "StreamARN": request.StreamARN}
    try:
        stream = writable(registry, named, scope)
    except KinesisError as error:
        raise NotFast from error
    _require_plain(entries, stream.state.max_record_kib * 1024 - _MAX_KEY_BYTES)
    return registry.write(stream, entries), stream


def _require_plain(entries: list[Entry], max_data: int) -> None:
    """Raise ``NotFast`` unless each Data is canonical base64 in quotes, and each record fits for sure."""
    datas = [entry.Data for entry in entries]
    kinds = b"".join(datas).translate(_KINDS)
    paddings = kinds.count(b'="') + kinds.count(b'=="')
    if b"!" in kinds or kinds.count(b'"') != 2 * len(datas) or kinds.count(b"=") != paddings:
        raise NotFast
    for data in datas:
        if (len(data) - 2) & 3 or data_size(data) > max_data:
            raise NotFast
    for entry in entries:
        if entry.ExplicitHashKey is not None and int(entry.ExplicitHashKey) > hash_keys.MAX_HASH_KEY:
            raise NotFast


def _encryption(stream: Stream) -> bytes:
    return b"".join(b',"%b":"%b"' % (k.encode(), v.encode()) for k, v in encryption(stream).items())
