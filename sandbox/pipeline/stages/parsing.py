"""Pipeline stage: judge records by the contract, in Arrow batches on the executors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from hashlib import blake2b
from itertools import repeat
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec

from sandbox.pipeline.stages.object_versions import NOTHING, MessageObject, read_subject
from sandbox.pipeline.storage.schema import WITHOUT_COLUMN, arrow_schema, build_tables, list_columns
from schemas.bound import CONTRACT
from schemas.contract import Contract, Peek, Verdict, judge_received

if TYPE_CHECKING:
    import pyarrow as pa

RECORDS = (
    "data BINARY, partitionKey STRING, streamName STRING, shardId STRING, sequenceNumber STRING, "
    "approximateArrivalTimestamp TIMESTAMP"
)
"""The columns of the ``kinesis`` source."""

Row: TypeAlias = tuple[Any, ...]
"""One judged record."""


def moment(text: str | None) -> datetime | None:
    """Parse an RFC 3339 text; None when it is not a time with a zone."""
    if not text:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo else None


_NO_SUBJECT: Final = msgspec.structs.astuple(NOTHING)


class RecordJudge:
    """Judges records by one contract. Each gives the columns of ``arrivals`` that come from its bytes."""

    def __init__(self, contract: Contract) -> None:
        columns = [field for field in contract.fields if field.name not in WITHOUT_COLUMN]
        self._column_names = [field.column for field in columns]
        self.columns: Final = (
            *("size", "identity", *self._column_names, "code", "description"),
            *MessageObject.__struct_fields__,
        )
        # Kept, since they are called for every message.
        self._peek, self._identity, self._undecorate = contract.peek, contract.identity, contract.undecorate
        self._body, self._objects = contract.body, contract.objects
        self._judge = judge_received(contract)
        self._say = attrgetter(*(field.attribute for field in columns))
        self._stored = [
            (at, _STORED[field.stored]) for at, field in enumerate(columns) if field.stored in _STORED
        ]

    def judge(self, data: bytes, arrived: float, key: str | None = "", *, queued: bool = False) -> Row:
        """Judge any bytes that arrived at a time in seconds since the epoch; the values of ``columns``.

        Expiry is measured at arrival, so that a repeated run gives the same verdict. A ``queued`` message
        takes the code that it was decorated with, if it was.
        """
        peek = self._peek(data, key or "")
        code = peek.error_code if queued else None
        description = self._undecorate(data).reason if code else None
        about = _NO_SUBJECT
        if code is None:
            verdict = self._judge(data, now=arrived)
            if not verdict.valid:
                code, description = str(verdict.code), verdict.why
            elif peek.part is None and self._objects:
                about = msgspec.structs.astuple(read_subject(verdict.upgraded or data))
        named = None if peek.damaged else self._identity(peek)
        if not named:
            named = blake2b(data, digest_size=16).hexdigest()
        elif code is None and peek.part is not None:
            # Another body at the same place is no duplicate: it is refused when its sequence is decided.
            named += f"/{blake2b(self._body(data), digest_size=8).hexdigest()}"
        identity = f"{'message' if code is None else 'reject'} {named}"
        return (len(data), identity, *self._read_columns(peek), code, description, *about)

    def describe(self, raw: bytes, verdict: Verdict) -> dict[str, Any]:
        """What a whole message says of itself and of its object, by column."""
        about = read_subject(verdict.upgraded or raw) if verdict.valid and self._objects else NOTHING
        columns = self._read_columns(self._peek(raw))
        return dict(zip(self._column_names, columns, strict=True)) | msgspec.structs.asdict(about)

    def _read_columns(self, peek: Peek) -> list[Any]:
        columns = [*self._say(peek)]
        for at, store in self._stored:
            columns[at] = store(columns[at])
        return columns


def _int32(number: float | None) -> int | None:
    return number if isinstance(number, int) and -(2**31) <= number < 2**31 else None


def _int64(number: float | None) -> int | None:
    return number if isinstance(number, int) and -(2**63) <= number < 2**63 else None


def _double(number: float | None) -> float | None:
    with suppress(OverflowError):
        return None if number is None else float(number)
    return None


_STORED: Final[dict[str, Callable[[Any], Any]]] = {
    "INT": _int32,
    "BIGINT": _int64,
    "DOUBLE": _double,
    "TIMESTAMP": moment,
}
"""What makes of a field what its column can hold, or null."""


def judge_record(
    data: bytes, arrived: float, contract: Contract = CONTRACT, *, queued: bool = False
) -> dict[str, Any]:
    """Judge one record as ``RecordJudge`` does; its values by column."""
    judge = RecordJudge(contract)
    return dict(zip(judge.columns, judge.judge(data, arrived, queued=queued), strict=True))


def build_judge(
    queues: Sequence[str], contract: Contract = CONTRACT
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Build a function that makes of one partition of ``RECORDS`` rows of ``arrivals``, one for each record.

    A receiver has judged the messages on ``queues`` already; they take the code of their header.
    """
    aside = frozenset(queues)
    return lambda batches: _judge_batches(batches, aside, contract)


def _judge_batches(
    batches: Iterator[pa.RecordBatch], queues: frozenset[str], contract: Contract
) -> Iterator[pa.RecordBatch]:
    record_judge, schema = (
        RecordJudge(contract),
        arrow_schema(list_columns(build_tables(contract)["arrivals"].columns)),
    )
    for batch in batches:
        yield _judge_batch(batch, queues, record_judge, schema)


def _judge_batch(
    batch: pa.RecordBatch, queues: frozenset[str], record_judge: RecordJudge, schema: pa.Schema
) -> pa.RecordBatch:
    import pyarrow as pa

    judge, arrived = record_judge.judge, batch.column("approximateArrivalTimestamp")
    data = batch.column("data").fill_null(b"")
    # Integers are used, since creating a datetime in Arrow takes longer than the rest of the row.
    moments = arrived.cast(pa.timestamp("us", "UTC")).cast(pa.int64()).fill_null(0).to_numpy() / 1_000_000
    keys, streams = batch.column("partitionKey"), batch.column("streamName")
    records = zip(data.to_pylist(), moments.tolist(), keys.to_pylist(), streams.to_pylist(), strict=True)
    rows = [judge(raw, at, key, queued=stream in queues) for raw, at, key, stream in records]
    given = {
        "stream": streams,
        "shard": batch.column("shardId"),
        "sequence_number": batch.column("sequenceNumber"),
        "partition_key": keys,
        "arrived": arrived,
        "data": data,
    }
    values = dict(zip(record_judge.columns, zip(*rows, strict=True) if rows else repeat(()), strict=False))
    columns = [
        given[f.name].cast(f.type) if f.name in given else pa.array(values[f.name], f.type) for f in schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
