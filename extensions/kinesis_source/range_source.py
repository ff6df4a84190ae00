"""The source ``kinesis-ranges``: a row is a range of a shard, which the processing worker reads itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition

from .kinesis_client import get_client
from .options import ReadOptions
from .planner import RangePartition, ShardRange
from .source import KinesisBatchReader, KinesisSource, KinesisStreamReader, batch_settings, read_range

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

RANGES = "shard STRING, after STRING, until STRING, records BIGINT"
"""The columns of ``format("kinesis-ranges")``: those of a ``ShardRange``."""

_SCHEMA = pa.schema([*((name, pa.string()) for name in ("shard", "after", "until")), ("records", pa.int64())])


def reading(
    options: Mapping[str, str],
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Build a function for mapInArrow that reads ``RANGES`` to records with the columns of ``kinesis``.

    Composed with later steps in one function, it keeps the bytes of records out of the JVM.
    """
    settings = ReadOptions.of(options)

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for row in batch.to_pylist():
                yield from read_range(settings, get_client(settings), ShardRange(**row))

    return read


def _rows(partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
    if isinstance(partition, RangePartition):
        rows = [{name: getattr(part, name) for name in _SCHEMA.names} for part in partition.ranges]
        yield pa.RecordBatch.from_pylist(rows, _SCHEMA)


class KinesisRangeBatchReader(KinesisBatchReader):
    """Gives the ranges of all records between two positions."""

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        return _rows(partition)


class KinesisRangeStreamReader(KinesisStreamReader):
    """Gives micro-batches of ranges, with the offsets and admission control of ``kinesis``."""

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        return _rows(partition)


class KinesisRangeSource(DataSource):
    """``format("kinesis-ranges")``: options of ``kinesis``, columns ``RANGES``; ``reading`` reads them."""

    @classmethod
    def name(cls) -> str:
        return "kinesis-ranges"

    def schema(self) -> str:
        return RANGES

    def reader(self, schema: StructType) -> DataSourceReader:  # noqa: ARG002 - Spark passes it by name
        return KinesisRangeBatchReader(batch_settings(self.options))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802, ARG002 - Spark's
        return KinesisRangeStreamReader(ReadOptions.of(self.options))


SOURCES = (KinesisSource, KinesisRangeSource)
FORMAT = KinesisRangeSource.name()
