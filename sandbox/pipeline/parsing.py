"""Pipeline stage: judge records by the contract, in Arrow batches on the executors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from hashlib import blake2b
from itertools import repeat
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from sandbox.pipeline.schema import COLUMNS, arrow_schema
from schemas.contract import Judge
from schemas.rdss.contract import AS_PUBLISHED, RDSS
from schemas.rdss.peek import identity, peek
from schemas.rdss.versions import named_versions

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

RECORDS = (
    "data BINARY, partitionKey STRING, streamName STRING, shardId STRING, sequenceNumber STRING, "
    "approximateArrivalTimestamp TIMESTAMP"
)
"""The columns of the ``kinesis`` source."""

NAMES = [column.split()[0] for column in COLUMNS["arrivals"].split(", ")]


class _Body(msgspec.Struct):
    uuid: str | None = msgspec.field(default=None, name="objectUUID")
    title: str | None = msgspec.field(default=None, name="objectTitle")
    resource_type: str | None = msgspec.field(default=None, name="objectResourceType")
    related: Any = msgspec.field(default=None, name="objectRelatedIdentifier")


class _Message(msgspec.Struct):
    body: _Body = msgspec.field(name="messageBody")


_bodies = msgspec.json.Decoder(_Message)


class Subject(msgspec.Struct, frozen=True):
    """The object of a message; ``replaces`` is the first of its ``previous`` versions."""

    object_uuid: str | None = None
    resource_type: str | None = None
    title: str | None = None
    replaces: str | None = None
    previous: tuple[str, ...] | None = None
    following: tuple[str, ...] | None = None


_NOTHING = Subject()


def subject(raw: bytes) -> Subject:
    """Read the object of a message; all fields are None if the body has another form."""
    try:
        body = _bodies.decode(raw).body
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return _NOTHING
    if body.related is None:
        return Subject(body.uuid, body.resource_type, body.title)
    previous, following = named_versions({"objectRelatedIdentifier": body.related})
    replaces = previous[0] if previous else None
    return Subject(body.uuid, body.resource_type, body.title, replaces, previous or None, following or None)


def moment(text: str | None) -> datetime | None:
    """Parse an RFC 3339 text; None when it is not a time with a zone."""
    if not text:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo else None


class _Failure(msgspec.Struct, rename="camel"):
    error_code: str | None = None
    error_description: str | None = None


class _Queued(msgspec.Struct):
    header: _Failure = msgspec.field(name="messageHeader")


_queued = msgspec.json.Decoder(_Queued)


def reason(raw: bytes) -> tuple[str | None, str | None]:
    """The errorCode and errorDescription that a receiver wrote into a header; both None without them."""
    try:
        header = _queued.decode(raw).header
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None, None
    return header.error_code, header.error_description


class Row(NamedTuple):
    """One judged record: the columns of ``arrivals`` that come from its bytes."""

    size: int
    identity: str
    message_id: str | None
    correlation_id: str | None
    message_class: str | None
    message_type: str | None
    sequence: str | None
    position: int | None
    total: int | None
    tenant: int | None
    version: str | None
    published: datetime | None
    code: str | None
    description: str | None
    object_uuid: str | None
    resource_type: str | None
    title: str | None
    replaces: str | None
    previous: tuple[str, ...] | None
    following: tuple[str, ...] | None


def judge_record(
    data: bytes, arrived: float, judge: Judge = RDSS.versions.judge, *, queued: bool = False
) -> Row:
    """Judge any bytes that arrived at a time in seconds since the epoch.

    Expiry is measured at arrival, so that a repeated run gives the same verdict. A ``queued`` message takes
    the code of its header, if it has one.
    """
    seen = peek(data)
    code, description = reason(data) if queued else (None, None)
    about = _NOTHING
    if code is None:
        verdict = judge(data, now=arrived)
        if not verdict.valid:
            code, description = str(verdict.code), verdict.why
        elif seen.part is None:
            about = subject(verdict.upgraded or data)
    named = None if seen.damaged else identity(seen)
    if not named:
        named = blake2b(data, digest_size=16).hexdigest()
    return Row(
        len(data),
        f"{'message' if code is None else 'reject'} {named}",
        seen.message_id,
        seen.correlation_id,
        seen.message_class,
        seen.message_type,
        seen.sequence,
        _int32(seen.position),
        _int32(seen.total),
        _int64(seen.tenant),
        seen.version,
        moment(seen.published),
        code,
        description,
        about.object_uuid,
        about.resource_type,
        about.title,
        about.replaces,
        about.previous,
        about.following,
    )


def _int32(number: int | None) -> int | None:
    return number if number is None or -(2**31) <= number < 2**31 else None


def _int64(number: int | None) -> int | None:
    return number if number is None or -(2**63) <= number < 2**63 else None


def judge_records(records: DataFrame, queues: Sequence[str] = ()) -> DataFrame:
    """Convert ``RECORDS`` to rows of ``arrivals``: every record gives one row, whatever its bytes are.

    A receiver has judged the messages on ``queues`` already; they take the code of their header.
    """
    return records.mapInArrow(build_judge(queues), COLUMNS["arrivals"])


def build_judge(
    queues: Sequence[str], *, as_published: bool = False
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Build a function that judges one partition, for use before another step in the same worker."""
    aside = frozenset(queues)
    return lambda batches: (_judge_batch(batch, aside, as_published=as_published) for batch in batches)


def _judge_batch(batch: pa.RecordBatch, queues: frozenset[str], *, as_published: bool) -> pa.RecordBatch:
    import pyarrow as pa

    judge = (AS_PUBLISHED if as_published else RDSS).versions.judge

    schema, arrived = arrow_schema(), batch.column("approximateArrivalTimestamp")
    data = batch.column("data").fill_null(b"")
    # Integers are used, since creating a datetime in Arrow takes longer than the rest of the row.
    moments = arrived.cast(pa.timestamp("us", "UTC")).cast(pa.int64()).fill_null(0).to_numpy() / 1_000_000
    triples = zip(data.to_pylist(), moments.tolist(), batch.column("streamName").to_pylist(), strict=True)
    rows = [judge_record(raw, at, judge, queued=stream in queues) for raw, at, stream in triples]
    given = {
        "stream": batch.column("streamName"),
        "shard": batch.column("shardId"),
        "sequence_number": batch.column("sequenceNumber"),
        "partition_key": batch.column("partitionKey"),
        "arrived": arrived,
        "data": data,
    }
    said = dict(zip(Row._fields, zip(*rows, strict=True) if rows else repeat(()), strict=False))
    columns = [
        given[f.name].cast(f.type) if f.name in given else pa.array(said[f.name], f.type) for f in schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
