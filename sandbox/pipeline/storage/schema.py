"""The tables and their columns, written down once: nine, and one for each message of a document.

Spark's DDL, Arrow's and Delta's schemas and ``docs/tables.md`` are made of it. A table may get further
columns: the next run adds them to tables that are there. A column is never removed, renamed or given
another type.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from schemas.bound import CONTRACT
from schemas.contract import Contract
from schemas.fields import OF_RECORDS, Field

if TYPE_CHECKING:
    import pyarrow as pa
    from deltalake import Schema

LATENCY_BOUNDS: Final = tuple(step * 10**power for power in range(8) for step in (1, 2, 5))
"""The upper bounds of the latency histogram's buckets in milliseconds; a last bucket holds what is above."""


@dataclass(frozen=True)
class Column:
    """A column; ``type`` is as Spark writes it, and ``unit`` is empty where the meaning needs none."""

    name: str
    type: str
    meaning: str
    unit: str = ""


@dataclass(frozen=True)
class Table:
    """A table: what a row is, the columns that tell rows apart, and the column of time, if there is one."""

    row: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]
    time: str | None = None
    grows: bool = True
    """Whether batches append to it; the other tables are derived from those and replaced as a whole."""

    @property
    def stored(self) -> tuple[Column, ...]:
        """The columns in the table's files."""
        # Delta-rs forgets the statistics of a column that stands behind a struct.
        plain = next((at for at, each in enumerate(self.columns) if "STRUCT" in each.type), len(self.columns))
        return (*self.columns[:plain], _BATCH, *self.columns[plain:]) if self.grows else self.columns

    @property
    def names(self) -> list[str]:
        """The names of the columns as the stages make them."""
        return [column.name for column in self.columns]


_BATCH = Column("batch", "BIGINT", "the batch that wrote the row")
_PLACE = (
    Column("stream", "STRING", "the stream of the record"),
    Column("shard", "STRING", "the id of its shard"),
    Column("sequence_number", "STRING", "its sequence number, a decimal number of up to 128 bits"),
    Column("partition_key", "STRING", "its partition key; null when it was read from the audit log"),
    Column("arrived", "TIMESTAMP", "when the stream took it in", "UTC"),
    Column("size", "INT", "the length of its data", "bytes"),
)
WITHOUT_COLUMN: Final = frozenset({"code", "expires"})
"""Fields that are no columns of a message: what they say is in its verdict."""
_OF_ONE_MESSAGE: Final = frozenset({"correlation", "sequence", "position", "total"})
"""Fields that the parts of a sequence have each for themselves."""


def describe_fields(fields: Iterable[Field]) -> tuple[Column, ...]:
    """The columns of what a message says of itself, as its contract declares it."""
    return tuple(
        Column(
            field.column,
            field.stored,
            field.meaning or field.spelling,
            "UTC" if field.stored == "TIMESTAMP" else "",
        )
        for field in fields
        if field.name not in WITHOUT_COLUMN
    )


_VERSIONS = (
    Column("previous", "ARRAY<STRING>", "objectUUIDs of versions before it"),
    Column("following", "ARRAY<STRING>", "objectUUIDs of versions behind it"),
)
_OBJECT = (
    Column("object_uuid", "STRING", "objectUUID; null when the body names no object"),
    Column("resource_type", "STRING", "objectResourceType"),
    Column("title", "STRING", "objectTitle"),
    Column("replaces", "STRING", "the first of its previous versions"),
    *_VERSIONS,
)
_VERDICT = (
    Column("code", "STRING", "the error code; null for a valid message"),
    Column("description", "STRING", "why it has this code"),
)
_DATA = Column("data", "BINARY", "the bytes as they arrived")
_RECORD = ("stream", "shard", "sequence_number")
OF_MESSAGES: Final = "message_"
"""How the tables of a contract's messages begin."""


def build_tables(contract: Contract) -> dict[str, Table]:
    """The tables by name, with a column for each field that the contract declares of its messages.

    Tables of what a contract has not, as sequences or objects, stay empty. What its messages carry has a
    table of its own.
    """
    summed = [field for field in contract.fields if field.summed]
    about = _OBJECT if contract.objects else ()
    header = describe_fields(field for field in contract.fields if field.name not in _OF_ONE_MESSAGE)
    head = (
        *_PLACE,
        Column("identity", "STRING",
               "what duplicates share: 'message' or 'reject', and the id, a part's place and text, or data"),
        *describe_fields(contract.fields),
    )  # fmt: skip
    return {
        "arrivals": Table("a record that was read, whole, and the verdict on it",
                          _RECORD, (*head, *about, *_VERDICT, _DATA), "arrived"),
        "messages": Table(
            "a whole, valid message, once a stream; its bytes are in arrivals under the same key",
                          _RECORD, (*head, *about), "arrived"),
        "parts": Table("a valid part of a sequence", _RECORD, (*head, _DATA), "arrived"),
        "duplicates": Table("a further arrival of a message", _RECORD, head, "arrived"),
        "rejects": Table(
            "a message with an error code; of a refused sequence, the joined message or each part",
                         (*_RECORD, "identity"), (*head, *_VERDICT, _DATA), "arrived"),
        "queued": Table(
            "a message that a receiver put on the error or invalid queue, with the code given there",
                        _RECORD, (*head, *_VERDICT, _DATA), "arrived"),
        "sequences": Table(
            "a sequence that is finished",
            ("stream", "sequence"),
            (
                Column("stream", "STRING", "the stream of its parts"),
                Column("sequence", "STRING", "the id of the sequence"),
                Column("status", "STRING", "joined, refused (what was joined is not valid) or overdue"),
                Column("parts", "INT", "the parts that arrived"),
                Column("total", "INT", "the parts it should have"),
                Column("first_arrived", "TIMESTAMP", "when its first part arrived", "UTC"),
                Column("last_arrived", "TIMESTAMP", "when its last part arrived", "UTC"),
                Column("size", "INT", "the length of the joined message", "bytes"),
                Column("body_sha256", "STRING", "SHA-256 of the joined body, in hexadecimal"),
                *header, *about, *_VERDICT,
            ),
            "last_arrived",
        ),
        "objects": Table(
            "the current state of an object",
            ("object_uuid",),
            (
                Column("object_uuid", "STRING", "objectUUID"),
                *(Column(each.column, each.stored, f"the {each.name} of its last change") for each in summed),
                Column("resource_type", "STRING", "objectResourceType"),
                Column("title", "STRING", "objectTitle"),
                Column("message_type", "STRING", "its type in the last create or update"),
                Column("message_id", "STRING", "messageId of its last create or update"),
                Column("created", "TIMESTAMP", "when its first create was published", "UTC"),
                Column("updated", "TIMESTAMP", "when its last create or update was published", "UTC"),
                Column("deleted", "BOOLEAN",
                       "whether it, or another version of the same work, was deleted last"),
                Column("deleted_at", "TIMESTAMP", "when its last delete was published", "UTC"),
                Column("replaces", "STRING", "the version before it, as its last create or update names it"),
                Column("replaced_by", "STRING",
                       "the version behind it; null for the current version of a work"),
                Column("first_version", "STRING", "objectUUID of the first version of the work"),
                Column("version", "BIGINT", "its number among the versions of the work, from 1"),
                Column("preserved", "TIMESTAMP", "when its last preservation event was published", "UTC"),
                *_VERSIONS,
            ),
            grows=False,
        ),
        "figures": Table(
            f"sums of one batch by minute, stream, {''.join(f'{each.name}, ' for each in summed)}outcome and "
            "code; rows with the same key add up",
            ("batch", "minute", "stream", *(each.column for each in summed), "outcome", "code"),
            (
                Column("minute", "TIMESTAMP", "the minute in which the records arrived", "UTC"),
                Column("stream", "STRING", "the stream"),
                *(Column(each.column, each.stored, f"the {each.name}") for each in summed),
                Column("outcome", "STRING", "their table: messages, parts, duplicates, rejects or queued"),
                Column("code", "STRING", "the error code"),
                Column("messages", "BIGINT", "how many records"),
                Column("bytes", "BIGINT", "the length of their data together", "bytes"),
                Column("latency_count", "BIGINT", "records with a published time"),
                Column("latency_sum", "BIGINT",
                       "the sum of their latencies, from published to arrived", "ms"),
                Column("latency_max", "BIGINT", "the longest latency", "ms"),
                Column("latency_p50", "BIGINT", "the latency that half of them do not exceed", "ms"),
                Column("latency_p95", "BIGINT", "the same for 95 of 100", "ms"),
                Column("latency_p99", "BIGINT", "the same for 99 of 100", "ms"),
                Column("latency_histogram", "ARRAY<BIGINT>",
                       "how many latencies are in each bucket; the upper bounds are 1, 2, 5, 10 ... 50000000 "
                       "ms, and the last bucket holds the rest"),
            ),
            "minute",
        ),
        **{
            f"{OF_MESSAGES}{content.name}": Table(
                f"what a valid message, or part, of the type {content.name} carries", _RECORD,
                (*(each for each in _PLACE if each.name in OF_RECORDS),
                 *(Column(*column, "") for column in content.columns.items())), "arrived")
            for content in contract.contents.values()
        },
    }  # fmt: skip


def list_columns(columns: Iterable[Column]) -> str:
    """Columns with Spark's type names."""
    return ", ".join(f"{column.name} {column.type}" for column in columns)


TABLES: Final = build_tables(CONTRACT)
"""The tables by name."""

COLUMNS: Final = {name: list_columns(table.columns) for name, table in TABLES.items()}
"""The columns of a table as the stages make them, with Spark's type names."""


def arrow_schema(table: str = "arrivals") -> pa.Schema:
    """The Arrow schema of a table's ``COLUMNS``, or of columns that are written in the same way."""
    import pyarrow as pa

    columns = (column.split() for column in COLUMNS.get(table, table).split(", "))
    return pa.schema([(name, _arrow_type(kind)) for name, kind in columns])


def _arrow_type(kind: str) -> pa.DataType:
    import pyarrow as pa

    plain = {
        "STRING": pa.string(), "INT": pa.int32(), "BIGINT": pa.int64(), "DOUBLE": pa.float64(),
        "BINARY": pa.binary(), "BOOLEAN": pa.bool_(), "TIMESTAMP": pa.timestamp("us", "UTC"),
    }  # fmt: skip
    outer, _, inner = kind.partition("<")
    if not inner:
        return plain[kind]
    if outer == "ARRAY":
        return pa.list_(_arrow_type(inner[:-1]))
    fields, depth = [""], 0
    for letter in inner[:-1]:
        depth += (letter == "<") - (letter == ">")
        if letter == "," and not depth:
            fields.append("")
        else:
            fields[-1] += letter
    named = (field.partition(":") for field in fields)
    return pa.struct([(name, _arrow_type(below)) for name, _, below in named])


def delta_schema(table: Table) -> Schema:
    """The schema of a Delta table; the meaning of a column is its comment."""
    import pyarrow as pa
    from deltalake import Schema

    typed = zip(table.stored, arrow_schema(list_columns(table.stored)), strict=True)
    meant = (
        (column, field, f"{column.meaning}{f' ({column.unit})' * bool(column.unit)}")
        for column, field in typed
    )
    return Schema.from_arrow(
        pa.schema([field.with_metadata({"comment": text} if text else {}) for _, field, text in meant])
    )
