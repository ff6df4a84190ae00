"""Pipeline stage: choose the table of each row, and copy it there from ``arrivals``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from sandbox.pipeline.storage.files import WRITTEN, Attempt, Batches, Writers, collect
from sandbox.pipeline.storage.schema import TABLES
from sandbox.pipeline.storage.table_log import File

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

_WITH_DATA = frozenset(name for name, table in TABLES.items() if "data" in table.names)
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


def write_outcomes(spark: SparkSession, routed: pa.Table, attempt: Attempt) -> list[File]:
    """Write each row, whole, to the table in its column ``table``; return the files.

    Each file that ``storing`` kept is read again, with the bytes only where a table has them: in a task for
    each core, or here when there is less to do than starting tasks would take.
    """
    tables = dict(_by_file(routed))
    if routed.num_rows <= _FEW:
        writers = Writers(attempt, 0)
        for part, named in tables.items():
            _copy(attempt, part, named, writers)
        return writers.close()
    parts = [(part, named.dictionary_encode()) for part, named in tables.items()]

    def write_part(batches: Batches) -> Batches:
        for batch in batches:
            for at in batch.column(0).to_pylist():
                part, named = parts[at]
                writers = Writers(attempt, part)
                _copy(attempt, part, named.dictionary_decode(), writers)
                yield from writers.finish()

    tasks = min(len(parts), spark.sparkContext.defaultParallelism)
    return collect(spark.range(0, len(parts), 1, tasks).mapInArrow(write_part, WRITTEN), attempt)


def _copy(attempt: Attempt, part: int, tables: pa.Array, writers: Writers) -> None:
    """Copy the rows of a kept file to their tables."""
    for table, chosen in _rows(attempt, attempt.path("arrivals", part), tables):
        writers.add(table, chosen)


def _by_file(rows: pa.Table) -> Iterator[tuple[int, pa.Array]]:
    """Yield the partition of each kept file, and the table of each of its rows in order."""
    import pyarrow.compute as pc

    for part in pc.unique(rows["part"]).to_pylist():
        mine = rows.filter(pc.equal(rows["part"], part))
        yield part, mine.sort_by("row")["table"].combine_chunks()


def _rows(attempt: Attempt, path: str, tables: pa.Array) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield the rows of a kept file by table."""
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
            columns = names if _WITH_DATA.intersection(present) else lean
            (batch,) = stored.read_row_group(group, columns=columns).combine_chunks().to_batches()
            for table in present:
                some = batch if len(present) == 1 else batch.filter(pc.equal(named, table))
                yield table, some
