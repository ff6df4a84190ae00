"""Runs that die, and a cluster of processes: the tables are the same."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import boto3
import duckdb
import pytest
from deltalake.exceptions import TableNotFoundError

from emulator.clock import Clock
from rdss_sandbox.tables import read_table
from sandbox.pipeline.pipeline_run import Job, once
from sandbox.pipeline.reports.sql_query import ask
from sandbox.pipeline.storage.schema import TABLES
from sandbox.pipeline.storage.table_storage import TableStorage
from sandbox.pipeline.storage.table_store import Tables
from sandbox.profiles import localstack_profile
from tests.sandbox.pipeline.workload import INTERPRETED, Endpoint, Load, load

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(400)]

_RUN = """
import json
import sys
from sandbox.pipeline.storage.table_storage import TableStorage
from sandbox.pipeline.pipeline_run import Job, once
from sandbox.pipeline.spark.spark_session import open_session

endpoint, store, stream, to, checkpoint, master, batch, settings = sys.argv[1:]
spark = open_session(master, settings=json.loads(settings))
job = Job(
    TableStorage.at(to, store), endpoint,
    streams=(stream,), records_per_trigger=int(batch), checkpoint=checkpoint,
)
once(spark, job, progress=lambda what, share: print(what, flush=True))
print(spark.sparkContext.master)
"""
_SETTINGS = json.dumps(
    INTERPRETED
    | {
        "spark.executor.memory": "512m",
        "spark.executor.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
    }
)


@pytest.fixture(scope="module")
def written(endpoint: Endpoint) -> tuple[str, Load]:
    """A stream with a split on the way, and what it holds."""
    stream, sent = endpoint.stream(shards=2), load(seed=9, messages=150, sequences=2)
    endpoint.put(stream, sent.records[:100])
    endpoint.client("kinesis").split_shard(
        StreamName=stream, ShardToSplit="shardId-000000000001", NewStartingHashKey=str(2**127 + 2**126)
    )
    endpoint.put(stream, sent.records[100:])
    return stream, sent


@pytest.fixture(scope="module")
def expected(
    spark: SparkSession,
    endpoint: Endpoint,
    written: tuple[str, Load],
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[str, Any]:
    """What an undisturbed run makes of it."""
    place = TableStorage.at(tmp_path_factory.mktemp("undisturbed"), endpoint.url)
    return _content(spark, once(spark, Job(place, endpoint.url, streams=(written[0],))))


def _content(spark: SparkSession, tables: Tables) -> dict[str, Any]:
    keys = {
        "messages": "identity", "parts": "identity", "duplicates": "identity", "rejects": "identity",
        "sequences": "body_sha256", "objects": "object_uuid", "arrivals": "sequence_number",
    }  # fmt: skip
    content = {
        t: sorted(row[key] for row in tables.read(spark, t).select(key).collect()) for t, key in keys.items()
    }
    counted = tables.read(spark, "figures").groupBy("outcome").sum("messages", "bytes").collect()
    return content | {"figures": sorted(tuple(row) for row in counted)}


@contextmanager
def _driver(
    endpoint: Endpoint, stream: str, place: TableStorage, checkpoint: Path, *, master: str, batch: int
) -> Iterator[subprocess.Popen[str]]:
    """A run in processes of its own; at the end of the context all of them are killed in the same instant."""
    process = subprocess.Popen(
        [sys.executable, "-c", _RUN, endpoint.url, place.endpoint_url or "", stream, place.uri,
         str(checkpoint), master, str(batch), _SETTINGS],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


@contextmanager
def _reading(place: TableStorage) -> Iterator[list[int]]:
    """Read messages with delta-rs and DuckDB until the end; yields how many there were each time."""
    seen, stop, clock, wrong = [0], threading.Event(), Clock(), list[str]()

    def read() -> None:
        while not stop.is_set():
            clock.wait(0.1)
            try:
                found = read_table(place.uri, "messages", endpoint_url=place.endpoint_url)
            except TableNotFoundError:
                continue
            with duckdb.connect() as database:
                database.register("found", found)
                rows, different = database.sql(
                    "SELECT count(*), count(DISTINCT identity) FROM found"
                ).fetchall()[0]
            if rows != different or rows < seen[-1]:
                wrong.append(f"{rows} rows, {different} messages, {seen[-1]} before")
            seen.append(rows)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        yield seen
    finally:
        stop.set()
        reader.join()
    assert not wrong, wrong


@pytest.fixture
def localstack_s3(localstack_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """LocalStack with its own S3, which the profile leaves out; its address."""
    monkeypatch.setattr(localstack_profile, "_SERVICES", "kinesis,s3")
    # Another LocalStack may run in the home, so this one has files of its own.
    home = tmp_path / "localstack"
    shutil.copytree(localstack_home / "files" / "usr", home / "files" / "usr", symlinks=True)
    (home / "environment").symlink_to(localstack_home / "environment")
    with localstack_profile.started(home, os.environ, print) as url:
        yield url


def _place(kind: str, request: pytest.FixtureRequest, endpoint: Endpoint, folder: Path) -> TableStorage:
    if kind == "disk":
        return TableStorage.at(folder / "tables", endpoint.url)
    url = endpoint.url if kind == "bucket" else request.getfixturevalue("localstack_s3")
    boto3.client("s3", endpoint_url=url, region_name="us-east-1").create_bucket(Bucket="killed")
    return TableStorage.at("s3://killed/tables", url)


_LOCALSTACK = pytest.param(
    "localstack", marks=[pytest.mark.compose, pytest.mark.xdist_group("compose"), pytest.mark.timeout(900)]
)


@pytest.mark.parametrize("kind", ["disk", "bucket", _LOCALSTACK])
def test_a_driver_killed_again_and_again_leaves_the_same_tables(
    *,
    spark: SparkSession,
    endpoint: Endpoint,
    written: tuple[str, Load],
    expected: dict[str, Any],
    tmp_path: Path,
    kind: str,
    request: pytest.FixtureRequest,
) -> None:
    """kill -9 in the middle of a batch, behind a commit and at the end: nothing lost, nothing twice.

    A reader that reads all the while sees no row twice and no table go back.
    """
    place, offsets = _place(kind, request, endpoint, tmp_path), tmp_path / "offsets"
    with _reading(place) as seen:
        # LocalStack is slow: there the death of which a commit is in danger is enough.
        for died_at in (
            (r"batch 1: ",) if kind == "localstack" else (r"batch 0$", r"batch 1: ", r"publishing")
        ):
            with _driver(endpoint, written[0], place, offsets, master="local[2]", batch=60) as process:
                assert process.stdout
                told = next((line for line in process.stdout if re.search(died_at, line.strip())), None)
            assert told, f"the run ended before {died_at}"
        with place.filesystem.open_output_stream(
            place.path("messages/batch-99999999-part-00000-dead.parquet")
        ) as half:
            half.write(b"half")
        job = Job(place, endpoint.url, streams=(written[0],), records_per_trigger=60, checkpoint=str(offsets))
        assert _content(spark, once(spark, job)) == expected
    assert max(seen) > 0
    tables = Tables(place)
    listed = {file.path for table in TABLES for file in tables.files(table)}
    there = {name for table in TABLES for name in place.names(table) if name.endswith(".parquet")}
    assert there == listed, "what a dead run left behind is gone"
    assert _counts(place) == [tables.rows()] * 4


def _counts(place: TableStorage) -> list[dict[str, int]]:
    """The rows of each table as delta-rs, DuckDB, pandas and polars count them."""
    import polars as pl

    found = {name: read_table(place.uri, name, endpoint_url=place.endpoint_url) for name in TABLES}
    asked = {name: ask(Tables(place), f"SELECT count(*) AS n FROM {name}")["n"][0].as_py() for name in TABLES}
    return [
        {name: rows.num_rows for name, rows in found.items()},
        asked,
        {name: len(rows.to_pandas()) for name, rows in found.items()},
        {name: len(pl.DataFrame(rows)) for name, rows in found.items()},
    ]


class Cluster(NamedTuple):
    """A standalone cluster: its master's URL, the sessions of its workers' processes."""

    url: str
    workers: tuple[int, ...]


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """A standalone master and two workers, each a process of its own."""
    import pyspark

    from sandbox.pipeline.spark import java

    home = Path(pyspark.__file__).parent
    environment = os.environ | {
        "SPARK_HOME": str(home), "JAVA_HOME": str(java.require().home), "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable, "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
    }  # fmt: skip
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"spark://127.0.0.1:{port}"
    master = [
        "org.apache.spark.deploy.master.Master",
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
        "--webui-port",
        "0",
    ]
    worker = [
        "org.apache.spark.deploy.worker.Worker",
        "--host",
        "127.0.0.1",
        "--webui-port",
        "0",
        "-c",
        "1",
        "-m",
        "600m",
        url,
    ]
    started: list[int] = []
    with ExitStack() as stack:
        for program in (master, worker, worker):
            process = subprocess.Popen(
                [str(home / "bin" / "spark-class"), *program], env=environment, text=True,
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True,
            )  # fmt: skip
            stack.callback(_end, process)
            assert process.stderr
            ready = (
                r"I have been elected leader" if program is master else r"Successfully registered with master"
            )
            assert any(re.search(ready, line) for line in process.stderr), f"{program[0]} did not start"
            started.append(process.pid)
        yield Cluster(url, tuple(started[1:]))


def _end(process: subprocess.Popen[str]) -> None:
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def _executor(cluster: Cluster) -> int:
    """A process of the cluster's that runs tasks; waits up to a minute for one."""
    clock = Clock()
    for _ in range(600):
        for command in Path("/proc").glob("[0-9]*/cmdline"):
            pid = int(command.parent.name)
            try:
                if (
                    os.getsid(pid) in cluster.workers
                    and b"CoarseGrainedExecutorBackend" in command.read_bytes()
                ):
                    return pid
            except OSError:
                continue
        clock.wait(0.1)
    raise AssertionError("no executor was started within a minute")


def test_a_cluster_that_loses_executors_writes_the_same_tables(
    *,
    spark: SparkSession,
    endpoint: Endpoint,
    written: tuple[str, Load],
    expected: dict[str, Any],
    tmp_path: Path,
    cluster: Cluster,
) -> None:
    """A master and two workers, of which an executor is killed in each batch: the tables are the same."""
    killed, said = set[int](), ""
    place = TableStorage.at(tmp_path / "tables", endpoint.url)
    with _driver(endpoint, written[0], place, tmp_path / "offsets", master=cluster.url, batch=120) as process:
        assert process.stdout
        for line in process.stdout:
            said = line.strip()
            if re.fullmatch(r"batch \d+", said):
                executor = _executor(cluster)
                os.kill(executor, signal.SIGKILL)
                killed.add(executor)
        process.wait(300)
    assert process.returncode == 0
    assert said == cluster.url
    assert len(killed) >= 2
    assert _content(spark, Tables(place)) == expected
