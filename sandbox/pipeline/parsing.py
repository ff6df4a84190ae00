"""Stage: records to judged rows. The schemas package decides, in batches of Arrow, on the executors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import msgspec

from sandbox.pipeline.tables import COLUMNS
from schemas.envelope import oversize, peek
from schemas.error_codes import ErrorCode
from schemas.validation import judge

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

RECORDS = (
    "data BINARY, partitionKey STRING, streamName STRING, shardId STRING, sequenceNumber STRING, "
    "approximateArrivalTimestamp TIMESTAMP"
)
"""What comes in: the columns of the ``kinesis`` source."""

NAMES = [column.split()[0] for column in COLUMNS["arrivals"].split(", ")]


class _Identifier(msgspec.Struct, rename="camel"):
    identifier_value: str | None = None


class _Related(msgspec.Struct, rename="camel"):
    relation_type: str | None = None
    identifier: _Identifier | None = None


class _Body(msgspec.Struct):
    uuid: str | None = msgspec.field(default=None, name="objectUUID")
    title: str | None = msgspec.field(default=None, name="objectTitle")
    resource_type: str | None = msgspec.field(default=None, name="objectResourceType")
    related: list[_Related] = msgspec.field(default_factory=list, name="objectRelatedIdentifier")


class _Message(msgspec.Struct):
    body: _Body = msgspec.field(name="messageBody")


_bodies = msgspec.json.Decoder(_Message)


class Subject(msgspec.Struct, frozen=True):
    """The object a message is about; ``replaces`` is the objectUUID it is a new version of."""

    object_uuid: str | None = None
    resource_type: str | None = None
    title: str | None = None
    replaces: str | None = None


def subject(raw: bytes) -> Subject:
    """What a whole message says about its object; nothing where the body has another form."""
    try:
        body = _bodies.decode(raw).body
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return Subject()
    replaces = next(
        (r.identifier for r in body.related if r.relation_type == "isNewVersionOf" and r.identifier), None
    )
    return Subject(body.uuid, body.resource_type, body.title, replaces.identifier_value if replaces else None)


def verdict(raw: bytes, arrived: float, *, joined: bool = False) -> tuple[str | None, str | None]:
    """The error code of a message that arrived at a time in seconds, and why; two None for a good one.

    Expiry is measured at arrival, so that running again gives the same verdict.
    """
    if not joined and oversize(raw):
        return ErrorCode.GENERR006, f"{len(raw)} bytes, and a message has at most 1000000"
    found = judge(raw, now=arrived, joined=joined)
    if found.valid:
        return None, None
    code = found.code or ErrorCode.GENERR009
    said = "; ".join(f"{v.path}: {v.message}" for v in found.violations[:3])
    return str(code), said[:1000] or code.description


def moment(text: str | None) -> datetime | None:
    """The time an RFC 3339 text names; None when it names none."""
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
    """The errorCode and errorDescription that a receiver wrote into a header.

    Two None where there are none.
    """
    try:
        header = _queued.decode(raw).header
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None, None
    return header.error_code, header.error_description


def row(data: bytes, arrived: datetime | None, *, queued: bool = False) -> dict[str, Any]:
    """What one record says, judged: the columns of ``arrivals`` that come from its bytes."""
    seen = peek(data)
    code, description = reason(data) if queued else (None, None)
    if code is None:
        code, description = verdict(data, arrived.timestamp() if arrived else 0.0)
    whole = code is None and (seen.total or 1) <= 1
    about = subject(data) if whole else Subject()
    named = (
        seen.message_id if seen.message_id and not seen.damaged else blake2b(data, digest_size=16).hexdigest()
    )
    return {
        "size": len(data),
        "identity": f"{'message' if code is None else 'reject'} {named}",
        "message_id": seen.message_id,
        "correlation_id": seen.correlation_id,
        "message_class": seen.message_class,
        "message_type": seen.message_type,
        "sequence": seen.sequence,
        "position": _int32(seen.position),
        "total": _int32(seen.total),
        "tenant": _int64(seen.tenant),
        "version": seen.version,
        "published": moment(seen.published),
        "code": code,
        "description": description,
        "object_uuid": about.object_uuid,
        "resource_type": about.resource_type,
        "title": about.title,
        "replaces": about.replaces,
        "data": data,
    }


def _int32(number: int | None) -> int | None:
    return number if number is None or -(2**31) <= number < 2**31 else None


def _int64(number: int | None) -> int | None:
    return number if number is None or -(2**63) <= number < 2**63 else None


def judged(records: DataFrame, queues: Sequence[str] = ()) -> DataFrame:
    """``RECORDS`` to rows of ``arrivals``: every record is one row, whatever its bytes are.

    On the ``queues`` a receiver has judged already: the code is the one in the message's header.
    """
    return records.mapInArrow(judging(queues), COLUMNS["arrivals"])


def judging(queues: Sequence[str]) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """``judged`` for one partition, to be put before another step in the same worker."""
    aside = frozenset(queues)
    return lambda batches: (_judged_batch(batch, aside) for batch in batches)


def _judged_batch(batch: pa.RecordBatch, queues: frozenset[str]) -> pa.RecordBatch:
    import pyarrow as pa  # noqa: PLC0415 - on executors

    schema, arrived = arrow_schema(), batch.column("approximateArrivalTimestamp")
    triples = zip(
        batch.column("data").to_pylist(),
        arrived.to_pylist(),
        batch.column("streamName").to_pylist(),
        strict=True,
    )
    rows = [row(data or b"", at, queued=stream in queues) for data, at, stream in triples]
    given = {
        "stream": batch.column("streamName"),
        "shard": batch.column("shardId"),
        "sequence_number": batch.column("sequenceNumber"),
        "partition_key": batch.column("partitionKey"),
        "arrived": arrived,
    }
    columns = [
        given[f.name].cast(f.type) if f.name in given else pa.array([r[f.name] for r in rows], f.type)
        for f in schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def arrow_schema(table: str = "arrivals") -> pa.Schema:
    """A table's columns as Arrow has them."""
    import pyarrow as pa  # noqa: PLC0415 - on executors

    kinds = {
        "STRING": pa.string(), "INT": pa.int32(), "BIGINT": pa.int64(), "BINARY": pa.binary(),
        "BOOLEAN": pa.bool_(), "TIMESTAMP": pa.timestamp("us", "UTC"),
    }  # fmt: skip
    return pa.schema([(n, kinds[k]) for n, k in (c.split() for c in COLUMNS[table].split(", "))])
