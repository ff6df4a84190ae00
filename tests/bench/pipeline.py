"""The pipeline: records a second through the source and every stage, beside Spark's own JSON reader.

What it costs to serve the streams is in every figure. ``python -m tests.bench --area pipeline``.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from emulator.clock import stopwatch
from tests.bench import spark_runs
from tests.bench.rows import US, Row

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

SHORT, LONG, SMALL = 100_000, 300_000, 2_000
_BATCH, _MICRO_BATCH, _PASSES = 50_000, 100, 5
_LINES = "messages.ndjson"


class Sizes(NamedTuple):
    """How much is measured: ``records`` of 1 KB through the source, ``messages`` through everything."""

    records: int = LONG
    messages: int = LONG
    small: int = SMALL


def measure(sizes: Sizes | None = None) -> Iterator[Row]:
    """One core, then two."""
    chosen = sizes or Sizes()
    with spark_runs.sandbox() as (url, folder):
        spark_runs.fill(url, "records", (b"%08x" % number + bytes(1016) for number in range(chosen.records)))
        spark_runs.fill(url, "messages", spark_runs.messages(chosen.messages))
        spark_runs.fill(url, "small", spark_runs.messages(chosen.small))
        spark_runs.write_lines(folder / _LINES, spark_runs.messages(min(chosen.messages, SHORT)))
        for cores in (1, 2):
            rows = spark_runs.in_a_process(__name__, url, folder, cores, *chosen)
            yield from (row._replace(measure=f"pipeline, {_cores(cores)}: {row.measure}") for row in rows)


def _cores(cores: int) -> str:
    return "1 core" if cores == 1 else f"{cores} cores"


def _figures(url: str, folder: Path, cores: int, sizes: Sizes) -> Iterator[Row]:
    """What one Spark does with the streams and the file; the small batches come first and warm it."""
    from sandbox.pipeline.spark.spark_session import open_session

    spark = open_session(f"local[{cores}]", memory="2g")
    small = spark_runs.tables(
        spark, url, spark_runs.Reading("small", _MICRO_BATCH), folder / f"small-{cores}"
    )
    yield Row(f"a batch of {_MICRO_BATCH}, p50", US, median(spark_runs.each(small)) * 1000, "ms")
    steps = _durations(_discarded(spark, url, "small", folder / f"steps-{cores}", _MICRO_BATCH))
    yield Row("an empty step of the source, p50", US, median(steps) * 1000, "ms")
    passes = [_pass(spark, url, folder / f"source-{cores}-{number}") for number in range(_PASSES)]
    around = median(lasted - reading for lasted, reading in passes)
    yield Row("starting and ending a query", US, around * 1000, "ms")
    reading = median(reading for _, reading in passes)
    yield Row("1 KB records through the source", US, sizes.records / reading, "/s", "more")
    count = sizes.messages if cores > 1 else min(sizes.messages, SHORT)
    limit = None if count == sizes.messages else count
    spent = list[dict[str, float]]()
    commits = spark_runs.tables(
        spark,
        url,
        spark_runs.Reading("messages", _BATCH, limit),
        folder / f"tables-{cores}",
        lambda _rows: spent.append(spark_runs.processor_time()),
    )
    yield Row("messages to tables", US, count / (commits[-1].at - commits[0].at), "/s", "more")
    if cores == os.cpu_count():
        yield from _limit(spent, sum(commit.rows for commit in commits[2:]), cores)
    full = [
        one
        for one, commit in zip(spark_runs.each(commits), commits[1:], strict=True)
        if commit.rows == _BATCH
    ]
    if len(full) >= 5:
        # The first batch has the start of the query in it.
        yield Row("a message of the 2nd and 3rd batch", US, sum(full[1:3]) / 2 / _BATCH * 1e6, "µs")
        last = f"a message of the last two of {len(full)} batches"
        yield Row(last, US, sum(full[-2:]) / 2 / _BATCH * 1e6, "µs")
    spark_runs.read_as_json(spark, folder / _LINES)
    alone = spark_runs.timed(lambda: spark_runs.read_as_json(spark, folder / _LINES))
    yield Row("messages to tables", spark_runs.PEER, min(sizes.messages, SHORT) / alone, "/s", "more")
    yield Row("memory of the JVM, at most", US, spark_runs.resident("java"), "MB")
    yield Row("memory of the largest Python worker", US, spark_runs.resident("python"), "MB")


def _limit(spent: list[dict[str, float]], messages: int, cores: int) -> Iterator[Row]:
    """What the messages behind the first batch took of the processors, and what that lets through at most.

    The sandbox that serves the stream is on the same cores, so it has its share.
    """
    if not messages:
        return
    each = {part: (spent[-1][part] - spent[0][part]) / messages * 1e6 for part in sorted(spent[0])}
    for part, cost in each.items():
        yield Row(f"processor time of a message in {part}", US, cost, "µs")
    largest = max(each, key=each.__getitem__)
    limit = f"messages to tables, at most: all processors busy, most of it in {largest}"
    yield Row(limit, US, cores / sum(each.values()) * 1e6, "/s", "more")


def _pass(spark: SparkSession, url: str, checkpoint: Path) -> tuple[float, float]:
    """Seconds that a query lasts which reads all records of 1 KB in a step, and seconds of that step."""
    began = stopwatch()
    (reading,) = _durations(_discarded(spark, url, "records", checkpoint))
    return stopwatch() - began, reading


def _durations(query: StreamingQuery) -> list[float]:
    """Seconds of each step of a query, from fixing where it ends to the commit, as Spark tells them."""
    return [progress.durationMs["triggerExecution"] / 1000 for progress in query.recentProgress]


def _discarded(
    spark: SparkSession, url: str, stream: str, checkpoint: Path, most: int | None = None
) -> StreamingQuery:
    """A query that takes what is there and throws it away, when it has ended."""
    options = {"streamName": stream, "endpointUrl": url, "startingPosition": "TRIM_HORIZON"}
    if most:
        options["maxRecordsPerTrigger"] = str(most)
    frame = spark.readStream.format("kinesis").options(**options).load()
    sink = frame.writeStream.format("noop").option("checkpointLocation", str(checkpoint))
    query = sink.trigger(availableNow=True).start()
    query.awaitTermination()
    return query


if __name__ == "__main__":
    aws, place, count, *amounts = sys.argv[1:]
    spark_runs.print_rows(_figures(aws, Path(place), int(count), Sizes(*map(int, amounts))))
