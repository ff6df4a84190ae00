"""Pipeline stage: choose the table of each row, and copy it there from ``arrivals``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from sandbox.pipeline.files import NAMES, WRITTEN, Attempt, Batches, Writers, collect, partition
from sandbox.pipeline.table_log import File

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_WITH_DATA = frozenset(table for table, names in NAMES.items() if "data" in names)
_LEAN = [name for name in NAMES["arrivals"] if name != "data"]


def choose_tables(marked: DataFrame, queues: Sequence[str]) -> DataFrame:
    """Add the column ``table``: the table of a row.

    Messages on the error and invalid ``queues`` were put there by a receiver and go to ``queued``. Rows with
    an error code go to ``rejects``. Parts of sequences go to ``parts``.
    """
    from pyspark.sql import functions as F  # noqa: N812 - heavy

    tables = (
        F.when(F.col("duplicate"), "duplicates")
        .when(F.col("stream").isin(*queues), "queued")
        .when(F.col("code").isNotNull(), "rejects")
        .when(F.col("total") > 1, "parts")
        .otherwise("messages")
    )
    return marked.withColumn("table", tables)


def write_outcomes(rows: DataFrame, attempt: Attempt) -> list[File]:
    """Write each row, whole, to the table in its column ``table``; return the files.

    ``rows`` are in the partitions they came in. Each task reads what ``storing`` kept of its partition again,
    with the bytes only where a table has them.
    """

    def write_partition(batches: Batches) -> Batches:
        import pyarrow as pa

        if not (all_of_it := list(batches)):
            return
        whole = pa.Table.from_batches(all_of_it)
        writers = Writers(attempt, partition())
        for part, tables in _by_file(whole):
            for table, chosen in _rows(attempt, attempt.path("arrivals", part), tables):
                writers.add(table, chosen)
        yield from writers.finish()

    return collect(rows.select("part", "row", "table").mapInArrow(write_partition, WRITTEN), attempt)


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

    place, at = attempt.place, 0
    with parquet.ParquetFile(place.path(path), filesystem=place.filesystem) as stored:
        assert stored.metadata.num_rows == len(tables), f"{path} is not the file that these rows were kept in"
        for group in range(stored.num_row_groups):
            named = tables.slice(at, stored.metadata.row_group(group).num_rows)
            at += len(named)
            present = pc.unique(named).to_pylist()
            names = NAMES["arrivals"] if _WITH_DATA.intersection(present) else _LEAN
            (batch,) = stored.read_row_group(group, columns=names).combine_chunks().to_batches()
            for table in present:
                some = batch if len(present) == 1 else batch.filter(pc.equal(named, table))
                yield table, some
