"""Messages in streams of a sandbox, and what Spark does with them: the parts of the pipeline's benchmarks.

The sandbox is in the process that measures, and each Spark is a process of its own, so none is warm from
another.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice, pairwise
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from emulator.assembly.embedded import embedded
from emulator.clock import Clock, stopwatch
from emulator.settings.settings import Settings
from rdss_sandbox.shapes.topology import Topology
from schemas.rdss.envelope import serialise
from schemas.rdss.samples import Samples
from tests.bench.load import Connection
from tests.bench.rows import Row

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PEER = "Spark's JSON reader"
_DISTINCT = 2_000
_HEADER = (
    "messageHeader STRUCT<tenantJiscID BIGINT, messageTimings STRUCT<publishedTimestamp TIMESTAMP>>, "
    "messageBody STRUCT<objectUUID STRING>"
)


@contextmanager
def sandbox() -> Iterator[tuple[str, Path]]:
    """Its address and a folder for what is measured, until the end of the context."""
    folder = Path(mkdtemp(prefix="bench-pipeline-"))
    try:
        data = folder / "data"
        with embedded(Settings(aws_port=0, control_port=0, data_dir=data, topology=Topology())) as emulator:
            yield emulator.aws, folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def in_a_process(module: str, *words: object) -> list[Row]:
    """The rows that it prints as its last line."""
    environment = os.environ | {"AWS_ACCESS_KEY_ID": "bench", "AWS_SECRET_ACCESS_KEY": "bench"}
    command = [sys.executable, "-m", module, *map(str, words)]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    return msgspec.json.decode(done.stdout.splitlines()[-1], type=list[Row])


def print_rows(rows: Iterable[Row]) -> None:
    """What ``in_a_process`` reads."""
    sys.stdout.write(msgspec.json.encode(list(rows)).decode() + "\n")


def messages(count: int) -> Iterator[bytes]:
    """Messages that are 2,000 again and again, each with an id of its own."""
    samples = [serialise(message) for message in Samples(1, now=Clock().time()).stream(_DISTINCT)]
    ids = [msgspec.json.decode(sample)["messageHeader"]["messageId"].encode() for sample in samples]
    for number in range(count):
        at = number % _DISTINCT
        yield samples[at].replace(ids[at], b"%08x" % number + ids[at][8:], 1)


def fill(url: str, stream: str, records: Iterable[bytes]) -> None:
    """A stream of four shards with these records in it."""
    with Connection(int(url.rpartition(":")[2])) as connection:
        connection.call("CreateStream", {"StreamName": stream, "ShardCount": 4})
        numbered = ({"Data": data, "PartitionKey": str(number)} for number, data in enumerate(records))
        while some := list(islice(numbered, 250)):
            answer = connection.call("PutRecords", {"StreamName": stream, "Records": some})
            assert not answer["FailedRecordCount"]


def write_lines(file: Path, lines: Iterable[bytes]) -> None:
    """For ``read_as_json``."""
    with file.open("wb") as opened:
        opened.writelines(line + b"\n" for line in lines)


def timed(work: Callable[[], object]) -> float:
    """Seconds that it takes."""
    began = stopwatch()
    work()
    return stopwatch() - began


class Committed(NamedTuple):
    """When a batch was committed, in seconds, and its rows; the first of a run is when it began to read."""

    at: float
    rows: int = 0


def each(commits: list[Committed]) -> list[float]:
    """Seconds of each batch."""
    return [later.at - earlier.at for earlier, later in pairwise(commits)]


class Reading(NamedTuple):
    """A stream read in batches, whole or up to ``limit`` records."""

    stream: str
    batch: int
    limit: int | None = None


def tables(
    spark: SparkSession, url: str, reading: Reading, to: Path, said: Callable[[int], None] = lambda rows: None
) -> list[Committed]:
    """A run with every stage; ``said`` is told the rows of each batch."""
    from sandbox.pipeline.pipeline_run import Job, follow, once
    from sandbox.pipeline.storage.table_storage import TableStorage

    job = Job(TableStorage.at(to, url), url, streams=(reading.stream,), records_per_trigger=reading.batch)
    commits = [Committed(stopwatch())]

    def tell(what: str, _share: float) -> None:
        if found := re.fullmatch(r"batch \d+: (\d+) records", what):
            commits.append(Committed(stopwatch(), int(found[1])))
            said(int(found[1]))

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


def resident(name: str) -> float:
    """Megabytes that the largest process of that name, of those which came of this one, once had."""
    most = 0.0
    for found, folder in _children():
        if found.startswith(name):
            fields = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines())
            most = max(most, int(fields["VmHWM"].split()[0]) / 1000)
    return most


def processor_time() -> dict[str, float]:
    """Seconds of processor time so far of all that a message takes part in: this process is the driver."""
    spent = {
        "the sandbox": _seconds(Path(f"/proc/{os.getppid()}")),
        "the driver": _seconds(Path("/proc/self")),
    }
    for name, folder in _children():
        # A process that has ended counts in the one that waited for it.
        part = "the JVM" if name == "java" else "Python's workers"
        spent[part] = spent.get(part, 0.0) + _seconds(folder, ended=part != "the JVM")
    return spent


def _seconds(process: Path, *, ended: bool = False) -> float:
    """What a process has used; with ``ended`` also those that it started and waited for."""
    fields = (process / "stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11 : 15 if ended else 13])) / os.sysconf("SC_CLK_TCK")


def read_as_json(spark: SparkSession, file: Path) -> None:
    """Spark's own reader over messages, with sums by minute and tenant, as in the figures."""
    from pyspark.sql import functions as F  # noqa: N812

    frame: DataFrame = spark.read.schema(_HEADER).json(str(file))
    published = F.col("messageHeader.messageTimings.publishedTimestamp")
    frame.groupBy(F.date_trunc("minute", published), "messageHeader.tenantJiscID").agg(
        F.count("*"),
        F.sum(F.length("messageBody.objectUUID")),
        F.max(published),
        F.percentile_approx(F.unix_millis(published), [0.5, 0.95, 0.99]),
    ).collect()
