"""The pipeline: records a second through the source and every stage, beside Spark's own JSON reader."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any

import msgspec

from emulator.clock import Clock, stopwatch
from emulator.embedded import embedded
from emulator.resources import Topology
from emulator.settings import Settings
from schemas.envelope import serialise
from schemas.samples import Samples
from tests.bench.rows import US, Row

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MESSAGES = 100_000
_DISTINCT = 2_000
_WARM = 2_000
_STREAM = "bench"
_HEADER = "messageHeader STRUCT<messageId STRING, messageType STRING, tenantJiscID BIGINT>"


def measure() -> Iterator[Row]:
    """One core, then two; each in a Spark of its own, so that neither is warm from the other."""
    folder = Path(mkdtemp(prefix="bench-pipeline-"))
    with embedded(Settings(aws_port=0, control_port=0, data_dir=None, topology=Topology())) as emulator:
        messages = _fill(emulator.aws, folder / "messages.ndjson")
        for cores in (1, 2):
            command = [sys.executable, "-m", "tests.bench.pipeline", emulator.aws, str(folder), str(cores)]
            done = subprocess.run(command, env=_environment(), stdout=subprocess.PIPE, check=True)
            rows = msgspec.json.decode(done.stdout.splitlines()[-1], type=list[Row])
            yield from (row._replace(measure=f"pipeline, {_cores(cores)}: {row.measure}") for row in rows)
    shutil.rmtree(folder)
    assert messages == MESSAGES


def _cores(cores: int) -> str:
    return "1 core" if cores == 1 else f"{cores} cores"


def _environment() -> dict[str, str]:
    return os.environ | {"AWS_ACCESS_KEY_ID": "bench", "AWS_SECRET_ACCESS_KEY": "bench"}


def _fill(url: str, ndjson: Path) -> int:
    """Put ``MESSAGES`` messages, each with an id of its own, on a stream of four shards and into a file."""
    import boto3

    kinesis = boto3.client(
        "kinesis", endpoint_url=url, region_name="us-east-1", aws_access_key_id="b", aws_secret_access_key="b"
    )
    kinesis.create_stream(StreamName=_STREAM, ShardCount=4)
    samples = [serialise(message) for message in Samples(1, now=Clock().time()).stream(_DISTINCT)]
    ids = [msgspec.json.decode(sample)["messageHeader"]["messageId"].encode() for sample in samples]
    sent = 0
    with ndjson.open("wb") as file:
        for start in range(0, MESSAGES, 250):
            some = []
            for number in range(start, start + 250):
                at = number % _DISTINCT
                some.append(samples[at].replace(ids[at], b"%08x" % number + ids[at][8:], 1))
            file.writelines(message + b"\n" for message in some)
            entries = [{"Data": data, "PartitionKey": str(start + at)} for at, data in enumerate(some)]
            answer = kinesis.put_records(StreamName=_STREAM, Records=entries)
            sent += len(some) - answer["FailedRecordCount"]
    return sent


def _figures(url: str, folder: Path, cores: int) -> Iterator[Row]:
    """What one Spark does with the stream and the file, after a warm-up on both."""
    from sandbox.pipeline.session import open_session

    spark = open_session(f"local[{cores}]", memory="2g")
    _json(spark, folder)
    _streamed(spark, url, folder / f"warm-{cores}", _WARM)
    source = _streamed(spark, url, folder / f"source-{cores}", None)
    yield Row("records through the source", US, MESSAGES / source, "a second", "more")
    whole = _whole(spark, url, folder / f"tables-{cores}")
    yield Row("messages to tables", US, MESSAGES / whole, "a second", "more")
    json = _json(spark, folder)
    yield Row("messages to tables", "Spark's JSON reader, counting only", MESSAGES / json, "a second", "more")
    yield Row("cost of a message", US, whole / MESSAGES * 1e6, "µs")
    yield Row("memory of the JVM", US, _resident("java"), "MB")


def _timed(work: Any) -> float:
    began = stopwatch()
    work()
    return stopwatch() - began


def _json(spark: SparkSession, folder: Path) -> float:
    """Seconds for Spark's own reader over the same messages, counted by type and tenant."""
    frame = spark.read.schema(_HEADER).json(str(folder / "messages.ndjson"))
    return _timed(frame.groupBy("messageHeader.messageType", "messageHeader.tenantJiscID").count().collect)


def _streamed(spark: SparkSession, url: str, checkpoint: Path, limit: int | None) -> float:
    """Seconds from start to end of a query that takes what is there and throws it away."""
    options = {"streamName": _STREAM, "endpointUrl": url, "startingPosition": "TRIM_HORIZON"}
    if limit:
        options["maxRecordsPerTrigger"] = str(limit)
    frame = spark.readStream.format("kinesis").options(**options).load()
    sink = frame.writeStream.format("noop").option("checkpointLocation", str(checkpoint))

    def run() -> None:
        query = sink.trigger(**({"processingTime": "0 seconds"} if limit else {"availableNow": True})).start()
        if limit:
            while not query.recentProgress:
                query.awaitTermination(1)
            query.stop()
        else:
            query.awaitTermination()

    return _timed(run)


def _whole(spark: SparkSession, url: str, to: Path) -> float:
    """Seconds of a run with every stage over everything that is there."""
    from sandbox.pipeline.place import Place
    from sandbox.pipeline.run import Job, once

    job = Job(Place.at(to, url), url, streams=(_STREAM,), records_per_trigger=50_000)
    return _timed(lambda: once(spark, job))


def _resident(name: str) -> float:
    """Megabytes resident of this process's child of that name."""
    for status in Path("/proc").glob("[0-9]*/status"):
        fields = dict(line.split(":", 1) for line in status.read_text().splitlines() if ":" in line)
        if fields["Name"].strip() == name and fields["PPid"].strip() == str(os.getpid()):
            return int(fields["VmHWM"].split()[0]) / 1000
    return 0.0


if __name__ == "__main__":
    aws, place, count = sys.argv[1:]
    found = list(_figures(aws, Path(place), int(count)))
    sys.stdout.write(msgspec.json.encode(found).decode() + "\n")
