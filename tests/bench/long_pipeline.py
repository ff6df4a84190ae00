"""What a message costs from the hundred-thousandth to the five-millionth: every stage, two cores.

``python -m tests.bench --area long_pipeline``, a quarter of an hour. Spark's own JSON reader is measured
before and after it: where those two differ, the machine's speed has changed meanwhile.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from statistics import mean, median

from rich.console import Console
from rich.progress import Progress

from tests.bench import spark_runs
from tests.bench.rows import US, Row

MESSAGES = 5_000_000
_BATCH, _LINES = 50_000, 100_000
_MARKS = (100_000, 500_000, 1_000_000, 2_000_000, 3_000_000, 4_000_000, 5_000_000)


def measure(count: int = MESSAGES) -> Iterator[Row]:
    """Of a whole run, and of its spans."""
    with spark_runs.sandbox() as (url, folder):
        spark_runs.fill(url, "messages", spark_runs.messages(count))
        spark_runs.write_lines(folder / "messages.ndjson", spark_runs.messages(_LINES))
        yield from spark_runs.in_a_process(__name__, url, folder, count)


def _figures(url: str, folder: Path, count: int) -> Iterator[Row]:
    from sandbox.pipeline.spark.spark_session import open_session

    spark = open_session("local[2]", memory="2g")
    lines = folder / "messages.ndjson"
    spark_runs.read_as_json(spark, lines)
    before = spark_runs.timed(lambda: spark_runs.read_as_json(spark, lines))
    with Progress(console=Console(stderr=True)) as shown:
        task = shown.add_task("messages to tables", total=count)
        reading = spark_runs.Reading("messages", _BATCH)
        commits = spark_runs.tables(
            spark, url, reading, folder / "tables", lambda rows: shown.advance(task, rows)
        )
    after = spark_runs.timed(lambda: spark_runs.read_as_json(spark, lines))
    lasted = commits[-1].at - commits[0].at
    yield Row(f"{count:,} messages to tables", US, count / lasted, "/s", "more")
    yield Row(f"{count:,} messages to tables", spark_runs.PEER, _LINES / mean((before, after)), "/s", "more")
    yield Row("100,000 messages before it", spark_runs.PEER, _LINES / before, "/s", "more")
    yield Row("100,000 messages after it", spark_runs.PEER, _LINES / after, "/s", "more")
    batches = spark_runs.each(commits)
    for first, end in pairwise(mark for mark in _MARKS if mark <= count):
        of_span = batches[first // _BATCH : end // _BATCH]
        yield Row(f"a message of {first + 1:,} to {end:,}, p50", US, median(of_span) / _BATCH * 1e6, "µs")
    yield Row("memory of the JVM, at most", US, spark_runs.resident("java"), "MB")
    yield Row("memory of the largest Python worker", US, spark_runs.resident("python"), "MB")


if __name__ == "__main__":
    aws, place, number = sys.argv[1:]
    spark_runs.print_rows(_figures(aws, Path(place), int(number)))
