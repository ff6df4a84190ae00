"""Putting records, finding a place in a shard, reading from there."""

from __future__ import annotations

from typing import Any

import msgspec
from pybase64 import b64encode_as_string

from emulator.kinesis import hash_keys, iterators, sequence_numbers, shard_ids
from emulator.kinesis.errors import (
    KinesisError,
    invalid_argument,
    no_such_shard,
    not_found,
    shard_not_found,
    validation,
)
from emulator.kinesis.iterators import ShardIterator
from emulator.kinesis.operations.shards import require_number
from emulator.kinesis.reads import Fetched, child_shards, fetch
from emulator.kinesis.records import read_lines, shape
from emulator.kinesis.registry import Registry
from emulator.kinesis.scope import Scope, named
from emulator.kinesis.starting_positions import starting_ordinal
from emulator.kinesis.stream import Shard, Stream
from emulator.kinesis.writes import Entry, Written

DATA_BYTES_IN_REQUEST = 10 * 1024 * 1024
DEFAULT_LIMIT = 10_000
_KIB = 1024


def put_record(registry: Registry, request: dict[str, Any], scope: Scope) -> dict[str, Any]:
    stream = ready(registry, request, scope)
    _require_fit(stream, request, "data")
    _require_hash_key(request)
    ordering = request.get("SequenceNumberForOrdering")
    if ordering is not None and not _in_the_past(ordering, registry.now_ms()):
        raise invalid_argument(
            f"ExclusiveMinimumSequenceNumber {ordering} used in PutRecord on stream {stream.name} under "
            f"account {stream.account} is invalid."
        )
    _dry_run(request)
    written = registry.write(stream, [_entry(request)], [len(request["Data"])])
    raise_first(written)
    answer: dict[str, Any] = msgspec.json.decode(written.answers[0])
    return answer | encryption(stream)


def put_records(registry: Registry, request: dict[str, Any], scope: Scope) -> dict[str, Any]:
    stream = ready(registry, request, scope)
    total = 0
    for i, record in enumerate(request["Records"], 1):
        total += _require_fit(stream, record, f"records.{i}.member.data")
        _require_hash_key(record)
    if total > DATA_BYTES_IN_REQUEST:
        raise invalid_argument("Records size exceeds 10 MB limit")
    _dry_run(request)
    sizes = [len(record["Data"]) for record in request["Records"]]
    written = registry.write(stream, [_entry(record) for record in request["Records"]], sizes)
    raise_when_none_is_stored(written)
    return {"FailedRecordCount": written.failed, "Records": _decoded(written)} | encryption(stream)


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
    given = iterator(stream, shard, ordinal, registry.now_ms())
    registry.readers.begin(given)
    shard.pass_to(ordinal)
    return {"ShardIterator": given.token()}


def get_records(registry: Registry, request: dict[str, Any], scope: Scope) -> dict[str, Any]:
    stream, shard, used = place(registry, request, scope)
    _dry_run(request)
    registry.limits.read(stream, shard)
    now = registry.now_ms()
    fetched = fetch(stream, shard, used.ordinal, now, limit=request.get("Limit", DEFAULT_LIMIT))
    registry.limits.delivered(shard, sum(map(len, fetched.parts)))
    answer: dict[str, Any] = {
        "Records": [shape(line) for line in read_lines(fetched.parts)],
        "MillisBehindLatest": fetched.millis_behind,
    }
    following = go_on(registry, shard, used, fetched, now)
    if following is None:
        return answer | {"ChildShards": child_shards(stream, shard)}
    return answer | {"NextShardIterator": following.token()}


def ready(registry: Registry, request: dict[str, Any], scope: Scope) -> Stream:
    """The stream to read or write. Raises ResourceNotFoundException while it is created or deleted."""
    stream = registry.find(request, scope)
    status = stream.status(registry.clock.time())
    if status in ("CREATING", "DELETING"):
        raise not_found(f"Stream {stream.name} under account {stream.account} not found.")
    return stream


def place(registry: Registry, request: dict[str, Any], scope: Scope) -> tuple[Stream, Shard, ShardIterator]:
    """The stream and the shard that the request's ShardIterator is for, and the iterator itself.

    Raises InvalidArgumentException, ExpiredIteratorException and ResourceNotFoundException.
    """
    found = iterators.read(request["ShardIterator"], registry.now_ms())
    stream = registry.numbered(found.stream)
    if stream is None or stream.status(registry.clock.time()) == "DELETING":
        raise not_found(f"The stream of this ShardIterator under account {scope.account} not found.")
    if request.get("StreamARN") not in (None, stream.arn):
        raise invalid_argument(f"The ShardIterator is not for the stream {request['StreamARN']}.")
    shard_id = shard_ids.of_number(found.shard)
    shard = stream.shards.get(shard_id)
    if shard is None:
        raise shard_not_found(shard_id, stream.name, stream.account)
    return stream, shard, found


def iterator(stream: Stream, shard: Shard, ordinal: int, now: int) -> ShardIterator:
    """An iterator made at ``now`` ms for the record ``ordinal``."""
    return ShardIterator(stream.state.number, shard.state.index, ordinal, max(0, now))


def go_on(
    registry: Registry, shard: Shard, used: ShardIterator, fetched: Fetched, now: int
) -> ShardIterator | None:
    """The iterator that follows ``used``, None at the shard's end; its reader is followed there."""
    following = None
    if fetched.next is not None:
        following = used._replace(ordinal=fetched.next, created=max(0, now))
    shard.pass_to(fetched.reached)
    records = fetched.reached - max(used.ordinal, shard.records.first)
    registry.readers.go_on(used, following, records)
    return following


def raise_first(written: Written) -> None:
    """Raise the error of a write of one record, if there was one."""
    if written.error is not None:
        code, message = written.error
        raise KinesisError(code, message, 500 if code == "InternalFailure" else 400)


def raise_when_none_is_stored(written: Written) -> None:
    """Raise InternalFailure when every record of a write failed with it."""
    if (
        written.failed == len(written.answers)
        and written.error is not None
        and "Internal" in written.error[0]
    ):
        raise_first(written)


def encryption(stream: Stream) -> dict[str, Any]:
    """What an answer says about a stream's encryption."""
    return {} if stream.state.encryption == "NONE" else {"EncryptionType": stream.state.encryption}


def _to_read(registry: Registry, request: dict[str, Any], scope: Scope) -> tuple[Stream, Shard]:
    """The shard that a request is to read, with its stream. Raises ResourceNotFoundException.

    AWS names the shard, in full, also where it is the stream that is not there.
    """
    shard_id = require_number(request, "ShardId", scope)
    account, name = named(request, scope)
    try:
        stream = ready(registry, request, scope)
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


def _decoded(written: Written) -> list[dict[str, Any]]:
    answers: list[dict[str, Any]] = msgspec.json.decode(f"[{','.join(written.answers)}]")
    return answers


def _dry_run(request: dict[str, Any]) -> None:
    if request.get("DryRun"):
        raise KinesisError(
            "DryRunOperationException",
            "Request would have succeeded, but the DryRun parameter was specified.",
        )
