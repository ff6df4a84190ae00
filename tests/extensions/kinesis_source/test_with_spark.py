"""``format("kinesis")`` on a real session and the sandbox's own streams."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from extensions.kinesis_source import KinesisSource, begin_again
from extensions.kinesis_source.options import ReadOptions
from extensions.kinesis_source.planner import Offset
from extensions.kinesis_source.source import KinesisStreamReader
from tests.sandbox.pipeline.workload import Endpoint

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def _options(endpoint: Endpoint, stream: str, **more: str) -> dict[str, str]:
    return {"streamName": stream, "endpointUrl": endpoint.url, "startingPosition": "TRIM_HORIZON"} | more


def _numbered(first: int, last: int) -> list[bytes]:
    return [b"%06d" % number for number in range(first, last)]


def test_a_batch_reads_every_generation_of_shards(spark: SparkSession, endpoint: Endpoint) -> None:
    """``spark.read`` gives each record of parents and children once, with the columns of the field."""
    stream = endpoint.stream(shards=2)
    endpoint.put(stream, _numbered(0, 300))
    kinesis = endpoint.client("kinesis")
    kinesis.split_shard(
        StreamName=stream, ShardToSplit="shardId-000000000000", NewStartingHashKey=str(2**125)
    )
    endpoint.put(stream, _numbered(300, 400))
    options = _options(endpoint, stream, **{"kinesis.recordsPerPartition": "50"})
    frame = spark.read.format("kinesis").options(**options).load()
    assert frame.columns == [
        "data", "partitionKey", "streamName", "shardId", "sequenceNumber", "approximateArrivalTimestamp",
    ]  # fmt: skip
    rows = frame.collect()
    assert sorted(bytes(row.data) for row in rows) == _numbered(0, 400)
    assert len({row.shardId for row in rows}) == 4
    assert {row.streamName for row in rows} == {stream}
    assert all(row.approximateArrivalTimestamp for row in rows)


def test_a_stream_lives_through_splits_merges_and_restarts(
    spark: SparkSession, endpoint: Endpoint, tmp_path: Path
) -> None:
    """From its checkpoint a query goes on where it was, through a split and a merge: each record once."""
    stream = endpoint.stream(shards=1)
    kinesis = endpoint.client("kinesis")
    seen: list[bytes] = []

    def take(batch: Any, _number: int) -> None:
        seen.extend(bytes(row.data) for row in batch.select("data").collect())

    def run() -> None:
        query = (
            spark.readStream.format("kinesis")
            .options(**_options(endpoint, stream, maxRecordsPerTrigger="120"))
            .load()
            .writeStream.foreachBatch(take)
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        assert all(progress.numInputRows <= 120 for progress in query.recentProgress)

    endpoint.put(stream, _numbered(0, 200))
    kinesis.split_shard(
        StreamName=stream, ShardToSplit="shardId-000000000000", NewStartingHashKey=str(2**127)
    )
    endpoint.put(stream, _numbered(200, 300))
    run()
    assert sorted(seen) == _numbered(0, 300)
    assert seen[:200] == _numbered(0, 200), "the parent's records come first, in order"
    kinesis.merge_shards(
        StreamName=stream,
        ShardToMerge="shardId-000000000001",
        AdjacentShardToMerge="shardId-000000000002",
    )
    endpoint.put(stream, _numbered(300, 350))
    run()
    assert sorted(seen) == _numbered(0, 350)
    offsets = sorted((tmp_path / "checkpoint" / "offsets").glob("[0-9]*"), key=lambda path: int(path.name))
    assert '"shardId-000000000003":' in offsets[-1].read_text()
    assert "shardId-000000000001" not in offsets[-1].read_text(), "ended shards are forgotten"


@pytest.mark.timeout(300)
@pytest.mark.parametrize("dying", ["worker", "planner"])
def test_a_job_whose_python_is_killed_begins_again(
    spark: SparkSession, endpoint: Endpoint, tmp_path: Path, dying: str
) -> None:
    """A process that reads, or the one that plans, is killed; every record is there, and there once."""
    stream = endpoint.stream(shards=2)
    endpoint.put(stream, _numbered(0, 50))
    mark = tmp_path / "killed"

    def die_once() -> None:
        if not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)

    # Classes of a function are pickled with their code: Spark's processes need not find this module.
    class Reader(KinesisStreamReader):
        def latestOffset(self, start: Offset, limit: Any) -> Offset:  # noqa: N802 - Spark's name
            if dying == "planner":
                die_once()
            return super().latestOffset(start, limit)

        def read(self, partition: Any) -> Iterator[Any]:
            if dying == "worker":
                die_once()
            yield from super().read(partition)

    class Mortal(KinesisSource):
        @classmethod
        def name(cls) -> str:
            return f"mortal-{dying}"

        def streamReader(self, schema: Any) -> Reader:  # noqa: N802 - Spark's
            return Reader(ReadOptions.of(self.options))

    spark.dataSource.register(Mortal)
    records = spark.readStream.format(f"mortal-{dying}").options(**_options(endpoint, stream)).load()
    place, offsets = str(tmp_path / "records"), str(tmp_path / "offsets")
    sink = records.writeStream.format("parquet").options(path=place, checkpointLocation=offsets)
    begun: list[None] = []

    def job() -> None:
        begun.append(None)
        sink.trigger(availableNow=True).start().awaitTermination()

    begin_again(job)
    assert mark.exists()
    assert len(begun) > 1
    assert sorted(bytes(row.data) for row in spark.read.parquet(place).collect()) == _numbered(0, 50)


def test_what_the_service_refuses_is_said_in_its_words(spark: SparkSession, endpoint: Endpoint) -> None:
    """A stream that is not there is an error that names it."""
    from pyspark.errors import PySparkException

    with pytest.raises(PySparkException, match=r"ResourceNotFoundException.*nowhere"):
        spark.read.format("kinesis").options(**_options(endpoint, "nowhere", maxRetries="1")).load().count()
