"""The data source that Spark calls: a batch reader and a streaming reader over the same ranges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from .kinesis_client import TRIM_HORIZON, KinesisClient, Once, ReadRecord, RecordPage, get_client
from .options import ReadOptions
from .planner import SHARD_END, Offset, Planner, RangePartition, ShardRange
from .source_errors import DataLossError, ServiceError

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

COLUMNS = (
    "data BINARY, partitionKey STRING, streamName STRING, shardId STRING, sequenceNumber STRING, "
    "approximateArrivalTimestamp TIMESTAMP"
)


def read_range(settings: ReadOptions, client: KinesisClient, part: ShardRange) -> Iterator[pa.RecordBatch]:
    """Read the records of a range as Arrow batches, in the order of the shard.

    Raises DataLossError unless failOnDataLoss is false: when there are fewer records than the walk counted,
    or for uncounted ranges, when the record before the range is gone.
    """
    bound = None if part.until == SHARD_END else int(part.until)
    uncounted = part.records is None and part.after[:1].isdigit()
    if uncounted and settings.fail_on_data_loss and not client.holds(part.shard, part.after):
        raise DataLossError(
            f"record {part.after} of shard {part.shard} has expired; records behind it may have too. "
            "Set failOnDataLoss to false to go on with what is there."
        )
    position, count, once = part.after, 0, Once(part.after)
    iterator: str | None = client.iterator(part.shard, position)
    while iterator and (bound is None or not (position[:1].isdigit() and int(position) >= bound)):
        try:
            most = settings.records_per_request
            left = most if part.records is None else max(1, part.records - count)
            page, _ = client.page(iterator, min(most, left), RecordPage)
        except ServiceError as refused:
            if refused.code != "ExpiredIteratorException":
                raise
            iterator = client.iterator(part.shard, position)
            continue
        fresh = once.filter_new(page.records)
        records = fresh
        if bound is not None and fresh and int(fresh[-1].sequence_number) > bound:
            records = [record for record in fresh if int(record.sequence_number) <= bound]
        if records:
            yield _arrow(*client.split_key(part.shard), records)
            count, position = count + len(records), records[-1].sequence_number
        if page.millis_behind_latest == 0 or len(records) < len(fresh):
            break
        iterator = page.next_shard_iterator
    short = part.records is not None and count != part.records
    unreached = bound is not None and not (position[:1].isdigit() and int(position) >= bound)
    if (short or unreached) and settings.fail_on_data_loss:
        raise DataLossError(
            f"shard {part.shard} gave {count} of {part.records or 'the'} records "
            f"behind {part.after} up to {part.until}. "
            "Set failOnDataLoss to false to go on with what is there."
        )


def _arrow(stream: str, shard: str, records: Sequence[ReadRecord]) -> pa.RecordBatch:
    count = len(records)
    arrived = [round(record.approximate_arrival_timestamp * 1_000_000) for record in records]
    return pa.RecordBatch.from_arrays(
        [
            pa.array([record.data for record in records], pa.binary()),
            pa.array([record.partition_key for record in records], pa.string()),
            pa.array([stream] * count, pa.string()),
            pa.array([shard] * count, pa.string()),
            pa.array([record.sequence_number for record in records], pa.string()),
            pa.array(arrived, pa.timestamp("us", "UTC")),
        ],
        names=[column.split()[0] for column in COLUMNS.split(", ")],
    )


class _StreamReading:
    """The common part of both readers. The options are pickled; each process creates its own client."""

    def __init__(self, settings: ReadOptions) -> None:
        self._settings = settings
        self._planner: Planner | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"_settings": self._settings, "_planner": None}

    @property
    def planner(self) -> Planner:
        """The planner of this process."""
        if self._planner is None:
            self._planner = Planner(self._settings, KinesisClient(self._settings))
        return self._planner

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        """Read a partition on an executor. Spark passes None when there is no partition."""
        if isinstance(partition, RangePartition):
            for part in partition.ranges:
                yield from read_range(self._settings, get_client(self._settings), part)


class KinesisBatchReader(_StreamReading, DataSourceReader):
    """Reads all records between two positions, once."""

    def partitions(self) -> Sequence[InputPartition]:
        """Plan all generations of shards, from ``startingPosition`` (TRIM_HORIZON) to their current ends."""
        planner = self.planner
        planner.stop_when_caught_up = True
        start, found = planner.first(self._settings.starting_position), list[InputPartition]()
        if self._settings.ending_position.lstrip().startswith("{"):
            return planner.partitions(start, planner.first(self._settings.ending_position))
        while True:
            end = planner.end(start, None, None)
            found += planner.partitions(start, end)
            if end == start:
                return found
            start = end


class KinesisStreamReader(_StreamReading, DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads micro-batches with admission control; ``availableNow`` ends when all shards have caught up."""

    def initialOffset(self) -> Offset:  # noqa: N802 - Spark's name
        return self.planner.first(self._settings.starting_position)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        self.planner.stop_when_caught_up = True

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        if self._settings.max_records_per_trigger:
            return ReadMaxRows(self._settings.max_records_per_trigger)
        if self._settings.max_bytes_per_trigger:
            return ReadMaxBytes(self._settings.max_bytes_per_trigger)
        return ReadAllAvailable()

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802 - Spark's name
        rows = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        size = None if isinstance(limit, ReadAllAvailable) else self._settings.max_bytes_per_trigger
        return self.planner.end(start, rows, size)

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        return self.planner.partitions(start, end)


def batch_settings(options: Mapping[str, str]) -> ReadOptions:
    """Read the options of a batch, which begins at TRIM_HORIZON by default."""
    given = {key.lower().removeprefix("kinesis.") for key in options}
    first = {} if given & {"startingposition", "initialposition"} else {"startingPosition": TRIM_HORIZON}
    return ReadOptions.of({**options, **first})


class KinesisSource(DataSource):
    """``format("kinesis")``; its options are ``OPTION_NAMES``, its columns ``COLUMNS``."""

    @classmethod
    def name(cls) -> str:
        return "kinesis"

    def schema(self) -> str:
        return COLUMNS

    def reader(self, schema: StructType) -> DataSourceReader:  # noqa: ARG002 - Spark passes it by name
        return KinesisBatchReader(batch_settings(self.options))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802, ARG002 - Spark's
        return KinesisStreamReader(ReadOptions.of(self.options))
