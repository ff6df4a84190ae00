"""Pipeline stage: choose the table of each row, and copy it there from ``arrivals``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from sandbox.pipeline.spark.spark_session import count_slots
from sandbox.pipeline.storage.files import WRITTEN, BatchAttempt, Batches, Writers, collect
from sandbox.pipeline.storage.schema import OF_MESSAGES, TABLES, arrow_schema
from sandbox.pipeline.storage.table_log import File
from schemas.contract import Content, Contract
from schemas.fields import OF_RECORDS

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

_WITH_DATA = frozenset(name for name, table in TABLES.items() if "data" in table.names)
_READ = frozenset({"messages", "parts"})
"""The tables whose messages are valid, and which are read for what they carry."""
_FEW = 5_000
"""Rows that are written by the driver itself."""


def choose_tables(marked: pa.Table, queues: Sequence[str]) -> pa.Table:
    """Add the column ``table``: the table of a row.

    Messages on the error and invalid ``queues`` were put there by a receiver and go to ``queued``. Rows with
    an error code go to ``rejects``. Parts of sequences go to ``parts``.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    rules = {
        "duplicates": marked["duplicate"],
        "queued": pc.is_in(marked["stream"], pa.array(queues, pa.string())),
        "rejects": pc.is_valid(marked["code"]),
        "parts": pc.fill_null(pc.greater(marked["total"], 1), False),
    }
    chosen = pc.case_when(pc.make_struct(*rules.values(), field_names=[*rules]), *rules, "messages")
    return marked.append_column("table", chosen)


def write_outcomes(
    spark: SparkSession, routed: pa.Table, attempt: BatchAttempt, contract: Contract
) -> list[File]:
    """Write each row, whole, to the table in its column ``table``, and what it carries; return the files.

    Each file that ``storing`` kept is read again, with the bytes only where a table has them: in a task for
    each core, or here when there is less to do than starting tasks would take.
    """
    tables = dict(_by_file(routed))
    if routed.num_rows <= _FEW:
        writers = Writers(attempt, 0)
        for part, named in tables.items():
            _copy(attempt, part, named, writers, contract)
        return writers.close()
    parts = [(part, named.dictionary_encode()) for part, named in tables.items()]

    def write_part(batches: Batches) -> Batches:
        for batch in batches:
            for at in batch.column(0).to_pylist():
                part, named = parts[at]
                writers = Writers(attempt, part)
                _copy(attempt, part, named.dictionary_decode(), writers, contract)
                yield from writers.finish()

    tasks = min(len(parts), count_slots(spark))
    return collect(spark.range(0, len(parts), 1, tasks).mapInArrow(write_part, WRITTEN), attempt)


def _copy(attempt: BatchAttempt, part: int, tables: pa.Array, writers: Writers, contract: Contract) -> None:
    """Copy the rows of a kept file to their tables, and what valid messages carry to those of their types."""
    contents = contract.contents
    whole = _WITH_DATA | _READ if contents else _WITH_DATA
    for table, chosen in _rows(attempt, attempt.path("arrivals", part), tables, whole):
        writers.add(table, chosen)
        if contents and table in _READ:
            for name, rows in _read_contents(chosen, contents):
                writers.add(name, rows)


def _read_contents(
    rows: pa.RecordBatch, contents: Mapping[str, Content]
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield the rows of each type with what their bytes say, and its table."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kinds = rows.column("message_type")
    for content, kind in ((contents.get(kind), kind) for kind in pc.unique(kinds).to_pylist()):
        if content is not None:
            some = rows.filter(pc.equal(kinds, kind))
            schema = arrow_schema(", ".join(f"{name} {each}" for name, each in content.columns.items()))
            read = [content.read(raw) for raw in some.column("data").to_pylist()]
            made = pa.RecordBatch.from_pylist(read, schema=schema)
            place = some.drop_columns([name for name in some.schema.names if name not in OF_RECORDS])
            columns, names = [*place.columns, *made.columns], [*place.schema.names, *made.schema.names]
            yield f"{OF_MESSAGES}{content.name}", pa.RecordBatch.from_arrays(columns, names=names)


def _by_file(rows: pa.Table) -> Iterator[tuple[int, pa.Array]]:
    """Yield the partition of each kept file, and the table of each of its rows in order."""
    import pyarrow.compute as pc

    for part in pc.unique(rows["part"]).to_pylist():
        mine = rows.filter(pc.equal(rows["part"], part))
        yield part, mine.sort_by("row")["table"].combine_chunks()


def _rows(
    attempt: BatchAttempt, path: str, tables: pa.Array, whole: frozenset[str]
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield the rows of a kept file by table, with the bytes where one of the tables ``whole`` has rows."""
    import pyarrow.compute as pc
    from pyarrow import parquet

    place, at, names = attempt.place, 0, attempt.schema["arrivals"].names
    lean = [name for name in names if name != "data"]
    with parquet.ParquetFile(place.path(path), filesystem=place.filesystem) as stored:
        assert stored.metadata.num_rows == len(tables), f"{path} is not the file that these rows were kept in"
        for group in range(stored.num_row_groups):
            named = tables.slice(at, stored.metadata.row_group(group).num_rows)
            at += len(named)
            present = pc.unique(named).to_pylist()
            columns = names if whole.intersection(present) else lean
            (batch,) = stored.read_row_group(group, columns=columns).combine_chunks().to_batches()
            for table in present:
                some = batch if len(present) == 1 else batch.filter(pc.equal(named, table))
                yield table, some
