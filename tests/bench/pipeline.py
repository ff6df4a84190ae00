"""The pipeline: records a second through the source and every stage, beside Spark's own JSON reader.

The streams are the sandbox's own, in the process that measures, so what it costs to serve them is in every
figure. ``python -m tests.bench --area pipeline``; with ``--deep`` the long run has five million
messages.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import islice, pairwise
from pathlib import Path
from statistics import median
from tempfile import mkdtemp
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from emulator.clock import Clock, stopwatch
from emulator.embedded import embedded
from emulator.resources import Topology
from emulator.settings import Settings
from schemas.envelope import serialise
from schemas.samples import Samples
from tests.bench.load import Connection
from tests.bench.rows import US, Row

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

SHORT, LONG, DEEP, SMALL = 100_000, 300_000, 5_000_000, 2_000
_BATCH, _MICRO_BATCH, _DISTINCT, _PASSES = 50_000, 100, 2_000, 5
_PEER = "Spark's JSON reader"
_HEADER = (
    "messageHeader STRUCT<tenantJiscID BIGINT, messageTimings STRUCT<publishedTimestamp TIMESTAMP>>, "
    "messageBody STRUCT<objectUUID STRING>"
)


class Sizes(NamedTuple):
    """How much is measured: ``records`` of 1 KB through the source, ``messages`` through everything."""

    records: int = LONG
    messages: int = LONG
    small: int = SMALL


def measure(*, deep: bool = False, sizes: Sizes | None = None) -> Iterator[Row]:
    """One core, then two; each in a Spark of its own, so that neither is warm from the other."""
    chosen = sizes or Sizes(messages=DEEP if deep else LONG)
    folder = Path(mkdtemp(prefix="bench-pipeline-"))
    try:
        data = folder / "data"
        with embedded(Settings(aws_port=0, control_port=0, data_dir=data, topology=Topology())) as emulator:
            _fill_streams(emulator.aws, chosen, folder / "messages.ndjson")
            for cores in (1, 2):
                rows = _spark(emulator.aws, folder, cores, chosen)
                yield from (row._replace(measure=f"pipeline, {_cores(cores)}: {row.measure}") for row in rows)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _spark(url: str, folder: Path, cores: int, sizes: Sizes) -> list[Row]:
    command = [sys.executable, "-m", "tests.bench.pipeline", url, str(folder), str(cores), *map(str, sizes)]
    environment = os.environ | {"AWS_ACCESS_KEY_ID": "bench", "AWS_SECRET_ACCESS_KEY": "bench"}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    return msgspec.json.decode(done.stdout.splitlines()[-1], type=list[Row])


def _cores(cores: int) -> str:
    return "1 core" if cores == 1 else f"{cores} cores"


def _fill_streams(url: str, sizes: Sizes, ndjson: Path) -> None:
    """``records`` of 1 KB, ``messages`` each with an id of its own, and a few of them in ``small``."""
    samples = [serialise(message) for message in Samples(1, now=Clock().time()).stream(_DISTINCT)]
    ids = [msgspec.json.decode(sample)["messageHeader"]["messageId"].encode() for sample in samples]

    def message(number: int) -> bytes:
        at = number % _DISTINCT
        return samples[at].replace(ids[at], b"%08x" % number + ids[at][8:], 1)

    _put(url, "records", (b"%08x" % number + bytes(1016) for number in range(sizes.records)))
    _put(url, "messages", map(message, range(sizes.messages)))
    _put(url, "small", map(message, range(sizes.small)))
    with ndjson.open("wb") as file:
        file.writelines(message(number) + b"\n" for number in range(min(sizes.messages, SHORT)))


def _put(url: str, stream: str, records: Iterable[bytes]) -> None:
    with Connection(int(url.rpartition(":")[2])) as connection:
        connection.call("CreateStream", {"StreamName": stream, "ShardCount": 4})
        numbered = ({"Data": data, "PartitionKey": str(number)} for number, data in enumerate(records))
        while some := list(islice(numbered, 250)):
            answer = connection.call("PutRecords", {"StreamName": stream, "Records": some})
            assert not answer["FailedRecordCount"]


def _figures(url: str, folder: Path, cores: int, sizes: Sizes) -> Iterator[Row]:
    """What one Spark does with the streams and the file; the small batches come first and warm it."""
    from sandbox.pipeline.session import open_session

    spark = open_session(f"local[{cores}]", memory="2g")
    small = _tables(spark, url, Reading("small", _MICRO_BATCH), folder / f"small-{cores}")
    yield Row(f"a batch of {_MICRO_BATCH}, p50", US, median(_each(small)) * 1000, "ms")
    steps = _durations(_discarded(spark, url, "small", folder / f"steps-{cores}", _MICRO_BATCH))
    yield Row("an empty step of the source, p50", US, median(steps) * 1000, "ms")
    passes = [_pass(spark, url, folder / f"source-{cores}-{number}") for number in range(_PASSES)]
    around = median(lasted - reading for lasted, reading in passes)
    yield Row("starting and ending a query", US, around * 1000, "ms")
    reading = median(reading for _, reading in passes)
    yield Row("1 KB records through the source", US, sizes.records / reading, "/s", "more")
    messages = sizes.messages if cores > 1 else min(sizes.messages, SHORT)
    limit = None if messages == sizes.messages else messages
    commits = _tables(spark, url, Reading("messages", _BATCH, limit), folder / f"tables-{cores}")
    yield Row("messages to tables", US, messages / (commits[-1].at - commits[0].at), "/s", "more")
    full = [each for each, commit in zip(_each(commits), commits[1:], strict=True) if commit.rows == _BATCH]
    if len(full) >= 5:
        # The first batch has the start of the query in it.
        yield Row("a message of the 2nd and 3rd batch", US, sum(full[1:3]) / 2 / _BATCH * 1e6, "µs")
        last = f"a message of the last two of {len(full)} batches"
        yield Row(last, US, sum(full[-2:]) / 2 / _BATCH * 1e6, "µs")
    _json(spark, folder)
    alone = _timed(lambda: _json(spark, folder))
    yield Row("messages to tables", _PEER, min(sizes.messages, SHORT) / alone, "/s", "more")
    yield Row("memory of the JVM, at most", US, _resident("java"), "MB")
    yield Row("memory of the largest Python worker", US, _resident("python"), "MB")


def _pass(spark: SparkSession, url: str, checkpoint: Path) -> tuple[float, float]:
    """Seconds that a query lasts which reads all records of 1 KB in a step, and seconds of that step."""
    began = stopwatch()
    (reading,) = _durations(_discarded(spark, url, "records", checkpoint))
    return stopwatch() - began, reading


def _timed(work: Callable[[], object]) -> float:
    began = stopwatch()
    work()
    return stopwatch() - began


class Committed(NamedTuple):
    """When a batch was committed, in seconds, and its rows; the first of a run is when it began to read."""

    at: float
    rows: int = 0


def _each(commits: list[Committed]) -> list[float]:
    return [later.at - earlier.at for earlier, later in pairwise(commits)]


def _durations(query: StreamingQuery) -> list[float]:
    """Seconds of each step of a query, from fixing where it ends to the commit, as Spark tells them."""
    return [progress.durationMs["triggerExecution"] / 1000 for progress in query.recentProgress]


def _json(spark: SparkSession, folder: Path) -> None:
    """Spark's own reader over the same messages, with the aggregation that makes the pipeline's figures."""
    from pyspark.sql import functions as F  # noqa: N812

    from sandbox.pipeline.figures import counted

    frame: DataFrame = spark.read.schema(_HEADER).json(str(folder / "messages.ndjson"))
    published = F.col("messageHeader.messageTimings.publishedTimestamp")
    counted(
        frame.select(
            published.alias("arrived"),
            published.alias("published"),
            F.lit("messages").alias("stream"),
            F.col("messageHeader.tenantJiscID").alias("tenant"),
            F.lit("messages").alias("table"),
            F.lit(None).cast("string").alias("code"),
            F.length("messageBody.objectUUID").alias("size"),
        )
    ).collect()


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


class Reading(NamedTuple):
    """A stream read in batches, whole or up to ``limit`` records."""

    stream: str
    batch: int
    limit: int | None = None


def _tables(spark: SparkSession, url: str, reading: Reading, to: Path) -> list[Committed]:
    """A run with every stage."""
    from sandbox.pipeline.place import Place
    from sandbox.pipeline.run import Job, follow, once

    job = Job(Place.at(to, url), url, streams=(reading.stream,), records_per_trigger=reading.batch)
    commits = [Committed(stopwatch())]

    def tell(what: str, _share: float) -> None:
        if found := re.fullmatch(r"batch \d+: (\d+) records", what):
            commits.append(Committed(stopwatch(), int(found[1])))

    if reading.limit is None:
        once(spark, job, progress=tell)
    else:
        enough = reading.limit // reading.batch
        follow(spark, job, every="0 seconds", stopped=lambda: len(commits) > enough, progress=tell)
    shutil.rmtree(to)
    return commits


def _children() -> Iterator[tuple[str, Path]]:
    """Name and folder in /proc of every process that came of this one."""
    found: dict[int, tuple[str, int, Path]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            head, _, tail = (folder / "stat").read_text().rpartition(")")
        except OSError:
            continue
        found[int(folder.name)] = (head.partition("(")[2], int(tail.split()[1]), folder)
    for name, above, folder in found.values():
        ancestor = above
        while ancestor in found and ancestor != os.getpid():
            ancestor = found[ancestor][1]
        if ancestor == os.getpid():
            yield name, folder


def _resident(name: str) -> float:
    """Megabytes that the largest process of that name, of those which came of this one, once had."""
    most = 0.0
    for found, folder in _children():
        if found.startswith(name):
            fields = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines())
            most = max(most, int(fields["VmHWM"].split()[0]) / 1000)
    return most


if __name__ == "__main__":
    aws, place, count, *amounts = sys.argv[1:]
    rows = list(_figures(aws, Path(place), int(count), Sizes(*map(int, amounts))))
    sys.stdout.write(msgspec.json.encode(rows).decode() + "\n")
