"""Byte-level paths for the three hot operations: base64 is not kept decoded, and no record becomes a dict.

They answer requests that are certainly valid. Any other request raises ``NotFastError`` and takes the full
path, so that all errors and their order come from one place. So does a request for a stream in ``watched``:
here the stream is known at no cost.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Annotated, Any, Final

import msgspec

from emulator.kinesis import blobs, hash_keys
from emulator.kinesis.entries import Entry, Written
from emulator.kinesis.errors import KinesisError, NotFastError
from emulator.kinesis.iterator_reads import Located, locate, read_on
from emulator.kinesis.iterators import ShardIterator
from emulator.kinesis.onlooker import NOBODY, Onlooker
from emulator.kinesis.reads import FetchedLines, child_shards
from emulator.kinesis.scope import Scope
from emulator.kinesis.stored_records import array
from emulator.kinesis.stream import Stream
from emulator.kinesis.stream_registry import Registry
from emulator.kinesis.writes import write

# Data and keys of such a body are below the limit of a call, so nobody need add them up.
_MAX_BODY_BYTES = 12 * 1024 * 1024
# 256 characters of up to four bytes: data that leaves so much room fits with any key.
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
    Data: str
    PartitionKey: Key
    ExplicitHashKey: HashKey | None = None
    StreamName: Name | None = None
    StreamARN: str | None = None


class _GetRecords(msgspec.Struct, forbid_unknown_fields=True):
    ShardIterator: Annotated[str, msgspec.Meta(min_length=1, max_length=512)]
    Limit: Annotated[int, msgspec.Meta(ge=1, le=10_000)] | None = None
    StreamARN: str | None = None


_UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_decode_put_records = msgspec.json.Decoder(_PutRecords).decode
_decode_put_record = msgspec.json.Decoder(_PutRecord).decode
_decode_get_records = msgspec.json.Decoder(_GetRecords).decode


def put_records(
    registry: Registry, body: bytes, scope: Scope, watched: Container[str], onlooker: Onlooker = NOBODY
) -> bytes:
    """Run PutRecords from JSON to JSON. Raises ``NotFastError`` and InternalFailure."""
    if len(body) > _MAX_BODY_BYTES:
        raise NotFastError
    try:
        request = _decode_put_records(body)
    except _UNREADABLE as error:
        raise NotFastError from error
    entries: list[Entry] = list(request.Records)
    written, stream = _write(registry, request, entries, scope, watched)
    # Before the error of a call of which nothing is stored: its entries are noted too.
    onlooker.note_written("PutRecords", stream, entries, written)
    written.raise_when_none_is_stored()
    answers = ",".join(written.answers)
    return f'{{"FailedRecordCount":{written.failed},"Records":[{answers}]{_encryption(stream)}}}'.encode()


def put_record(
    registry: Registry, body: bytes, scope: Scope, watched: Container[str], onlooker: Onlooker = NOBODY
) -> bytes:
    """Run PutRecord from JSON to JSON. Raises ``NotFastError`` and InternalFailure."""
    if len(body) > _MAX_BODY_BYTES:
        raise NotFastError
    try:
        request = _decode_put_record(body)
    except _UNREADABLE as error:
        raise NotFastError from error
    entry = Entry(request.Data, request.PartitionKey, request.ExplicitHashKey)
    written, stream = _write(registry, request, [entry], scope, watched)
    onlooker.note_written("PutRecord", stream, [entry], written)
    written.raise_first()
    return f"{written.answers[0][:-1]}{_encryption(stream)}}}".encode()


def get_records(
    registry: Registry, body: bytes, scope: Scope, watched: Container[str], onlooker: Onlooker = NOBODY
) -> tuple[Located, FetchedLines, ShardIterator | None]:
    """GetRecords as far as it needs the lock: what to ``render_records``. Raises ``NotFastError``.

    Raises ``NotFastError`` and ProvisionedThroughputExceededException.
    """
    try:
        request = _decode_get_records(body)
        located = locate(registry, request.ShardIterator, request.StreamARN, scope)
    except (*_UNREADABLE, KinesisError) as error:
        raise NotFastError from error
    if located.stream.name in watched:
        raise NotFastError
    try:
        fetched, following = read_on(registry, located, request.Limit)
    except KinesisError as error:
        onlooker.note_refused_read(located, error.code)
        raise
    onlooker.note_read(located, fetched, following)
    return located, fetched, following


def render_records(located: Located, fetched: FetchedLines, following: ShardIterator | None) -> bytes:
    """The answer of GetRecords: kept lines, as they are kept."""
    if following is None:
        tail = b'"ChildShards":' + msgspec.json.encode(child_shards(located.stream, located.shard))
    else:
        tail = b'"NextShardIterator":"%b"' % following.token().encode()
    after = b'],"MillisBehindLatest":%d,%b}' % (fetched.millis_behind, tail)
    return array(b'{"Records":[', fetched.parts, after)


def _write(
    registry: Registry,
    request: _PutRecords | _PutRecord,
    entries: list[Entry],
    scope: Scope,
    watched: Container[str],
) -> tuple[Written, Stream]:
    named: dict[str, Any] = {"StreamName": request.StreamName, "StreamARN": request.StreamARN}
    try:
        stream = registry.find_ready(named, scope)
    except KinesisError as error:
        raise NotFastError from error
    if stream.name in watched:
        raise NotFastError
    sizes = _sizes(entries, stream.state.max_record_kib * 1024 - _MAX_KEY_BYTES)
    return write(registry, stream, entries, sizes), stream


def _sizes(entries: list[Entry], most: int) -> list[int]:
    """How many bytes of data each entry has.

    Raises ``NotFastError`` for bad base64, an ExplicitHashKey out of range, and data so long that the record
    may be too big with its key.
    """
    try:
        sizes = blobs.lengths([entry.Data for entry in entries])
    except ValueError as error:
        raise NotFastError from error
    for entry in entries:
        if entry.ExplicitHashKey is not None and int(entry.ExplicitHashKey) > hash_keys.MAX_HASH_KEY:
            raise NotFastError
    if max(sizes) > most:
        raise NotFastError
    return sizes


def _encryption(stream: Stream) -> str:
    encryption = stream.state.encryption
    return "" if encryption == "NONE" else f',"EncryptionType":"{encryption}"'
