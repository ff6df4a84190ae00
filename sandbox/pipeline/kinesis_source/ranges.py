"""The source ``kinesis-ranges``: a row is a range of a shard, which the processing worker reads itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition

from .client import Client
from .options import Settings
from .planner import ShardRange
from .source import KinesisBatchReader, KinesisStreamReader, batch_settings, read_range

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
    settings = Settings.of(options)

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for row in batch.to_pylist():
                yield from read_range(settings, _client(settings), ShardRange(**row))

    return read


@lru_cache(maxsize=8)
def _get_client(settings: Settings) -> Client:
    return Client(settings)


def _client(settings: Settings) -> Client:
    """One client for each process; with a role, one for each range, since its credentials expire."""
    return Client(settings) if settings.role_arn else _get_client(settings)


def _row(partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
    if isinstance(partition, ShardRange):
        yield pa.RecordBatch.from_pylist(
            [{name: getattr(partition, name) for name in _SCHEMA.names}], _SCHEMA
        )


class KinesisRangeBatchReader(KinesisBatchReader):
    """Gives the ranges of all records between two positions."""

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        return _row(partition)


class KinesisRangeStreamReader(KinesisStreamReader):
    """Gives micro-batches of ranges, with the offsets and admission control of ``kinesis``."""

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        return _row(partition)


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
        return KinesisRangeStreamReader(Settings.of(self.options))
