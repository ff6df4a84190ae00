"""Putting records, getting shard iterators, and getting records with them."""

from __future__ import annotations

from typing import Any

import msgspec
from pybase64 import b64encode_as_string

from emulator.kinesis import hash_keys, sequence_numbers
from emulator.kinesis.entries import Entry
from emulator.kinesis.errors import (
    KinesisError,
    invalid_argument,
    no_such_shard,
    validation,
)
from emulator.kinesis.iterator_reads import locate, read_on
from emulator.kinesis.iterators import ShardIterator
from emulator.kinesis.operations.shards import require_number
from emulator.kinesis.reads import child_shards
from emulator.kinesis.scope import Scope, named
from emulator.kinesis.starting_positions import starting_ordinal
from emulator.kinesis.stored_records import read_lines, shape
from emulator.kinesis.stream import Shard, Stream
from emulator.kinesis.stream_registry import Registry
from emulator.kinesis.writes import write

DATA_BYTES_IN_REQUEST = 10 * 1024 * 1024
_KIB = 1024


def put_record(registry: Registry, request: dict[str, Any], scope: Scope) -> dict[str, Any]:
    stream = registry.find_ready(request, scope)
    _require_fit(stream, request, "data")
    _require_hash_key(request)
    ordering = request.get("SequenceNumberForOrdering")
    if ordering is not None and not _in_the_past(ordering, registry.now_ms()):
        raise invalid_argument(
            f"ExclusiveMinimumSequenceNumber {ordering} used in PutRecord on stream {stream.name} under "
            f"account {stream.account} is invalid."
        )
    # Behind the checks: a dry run is refused for whatever the call would be.
    _dry_run(request)
    written = write(registry, stream, [_entry(request)], [len(request["Data"])])
    written.raise_first()
    answer: dict[str, Any] = msgspec.json.decode(written.answers[0])
    return answer | stream.encryption_type


def put_records(registry: Registry, request: dict[str, Any], scope: Scope) -> dict[str, Any]:
    stream = registry.find_ready(request, scope)
    total = 0
    for i, record in enumerate(request["Records"], 1):
        total += _require_fit(stream, record, f"records.{i}.member.data")
        _require_hash_key(record)
    if total > DATA_BYTES_IN_REQUEST:
        raise invalid_argument("Records size exceeds 10 MB limit")
    _dry_run(request)
    sizes = [len(record["Data"]) for record in request["Records"]]
    written = write(registry, stream, [_entry(record) for record in request["Records"]], sizes)
    written.raise_when_none_is_stored()
    answers = msgspec.json.decode(f"[{','.join(written.answers)}]")
    return {"FailedRecordCount": written.failed, "Records": answers} | stream.encryption_type


def get_shard_iterator(registry: Registry, request: dict[str, Any], scope: Scope) -> dict[str, Any]:
    stream, shard = _to_read(registry, request, scope)
    position = {"Type": request["ShardIteratorType"]}
    if "StartingSequenceNumber" in request:
        position["SequenceNumber"] = request["StartingSequenceNumber"]
    if "Timestamp" in request:
        position["Timestamp"] = request["Timestamp"]
    ordinal = starting_ordinal(stream, shard, position, registry.now_ms())
    registry.limits.iterator(stream, shard)
    _dry_run(request)
    given = ShardIterator(stream.state.number, shard.state.index, ordinal, max(0, registry.now_ms()))
    registry.readers.begin(given)
    shard.begin_reading(position["Type"], ordinal)
    return {"ShardIterator": given.token()}


def get_records(registry: Registry, request: dict[str, Any], scope: Scope) -> dict[str, Any]:
    located = locate(registry, request["ShardIterator"], request.get("StreamARN"), scope)
    _dry_run(request)
    fetched, following = read_on(registry, located, request.get("Limit"))
    answer: dict[str, Any] = {
        "Records": [shape(line) for line in read_lines(fetched.parts)],
        "MillisBehindLatest": fetched.millis_behind,
    }
    if following is None:
        return answer | {"ChildShards": child_shards(located.stream, located.shard)}
    return answer | {"NextShardIterator": following.token()}


def _to_read(registry: Registry, request: dict[str, Any], scope: Scope) -> tuple[Stream, Shard]:
    """Find the stream and the shard that a request names. Raises ResourceNotFoundException.

    As at AWS, the error names the shard's full id even when the stream is missing.
    """
    shard_id = require_number(request, "ShardId", scope)
    account, name = named(request, scope)
    try:
        stream = registry.find_ready(request, scope)
    except KinesisError as error:
        if error.code == "ResourceNotFoundException" and name:
            raise no_such_shard(shard_id, name, account) from error
        raise
    registry.expire_shards(stream)
    shard = stream.find_shard(shard_id)
    if shard is None:
        raise no_such_shard(shard_id, stream.name, stream.account)
    return stream, shard


def _in_the_past(sequence_number: str, now: int) -> bool:
    found = sequence_numbers.position(sequence_number)
    return found is not None and found.arrival <= now


def _require_fit(stream: Stream, record: dict[str, Any], where: str) -> int:
    key = record.get("PartitionKey")
    if key is None and stream.state.distribution != "AUTO":
        raise validation(
            f"1 validation error detected: Value at '{where.replace('data', 'partitionKey')}' failed to "
            "satisfy constraint: Member must not be null"
        )
    size = len(record["Data"]) + len((key or "").encode())
    limit = stream.state.max_record_kib * _KIB
    if size > limit:
        raise validation(
            f"1 validation error detected: Value at '{where}' failed to satisfy constraint: "
            f"Member must have length less than or equal to {limit}"
        )
    return size


def _require_hash_key(record: dict[str, Any]) -> None:
    key = record.get("ExplicitHashKey")
    if key is not None and int(key) > hash_keys.MAX_HASH_KEY:
        raise invalid_argument(
            "Invalid ExplicitHashKey. ExplicitHashKey must be in the range: [0, 2^128-1]. "
            f"Specified value was {key}"
        )


def _entry(record: dict[str, Any]) -> Entry:
    data = b64encode_as_string(record["Data"])
    return Entry(data, record.get("PartitionKey"), record.get("ExplicitHashKey"))


def _dry_run(request: dict[str, Any]) -> None:
    if request.get("DryRun"):
        raise KinesisError(
            "DryRunOperationException",
            "Request would have succeeded, but the DryRun parameter was specified.",
        )
