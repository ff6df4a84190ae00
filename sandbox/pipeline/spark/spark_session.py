"""A Spark session for the pipeline: quiet, small, and on loopback if the master is local."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from rdss_sandbox.machine.installation import how_to_add
from sandbox.pipeline.sources.endpoint_check import require_connect_server
from sandbox.pipeline.sources.stream_source import find_stream_source
from sandbox.pipeline.spark import java
from sandbox.pipeline.spark.failures import UnavailableError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.datasource import DataSource

_FILE_MANAGER = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
_LOG_SETTINGS = Path(__file__).with_name("log4j2.properties")


class PysparkMissingError(UnavailableError):
    """The extra ``pipeline`` is not installed."""


def open_session(
    master: str = "local[*]", *, memory: str = "1g", settings: Mapping[str, str] | None = None
) -> SparkSession:
    """Get the running session or start one, with the ``bucket`` source and those of streams.

    ``memory`` is the driver's heap, ``settings`` are further Spark settings. Raises JavaMissingError without
    Java 17+, PysparkMissingError without pyspark. Signals are left to the caller's handlers.
    """
    if find_spec("pyspark") is None:
        raise PysparkMissingError(f"the pipeline needs PySpark; get it with: {how_to_add('pipeline')}")
    os.environ["JAVA_HOME"] = str(java.require().home)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master).appName("rdss-pipeline")
    for key, value in (_settings(master, memory) | dict(settings or {})).items():
        builder = builder.config(key, value)
    # In the main thread Spark would take SIGINT for itself; and cut off in its start, it hangs.
    with ThreadPoolExecutor(1) as starting:
        spark = starting.submit(builder.getOrCreate).result()
    spark.sparkContext.setLogLevel("ERROR")
    _register_sources(spark)
    return spark


def open_remote_session(url: str, *, settings: Mapping[str, str] | None = None) -> SparkSession:
    """Open a session at a Spark Connect server, ``sc://host:15002``, with the same sources.

    The server's Python has to have this package. Only settings that a session may change are set. Raises
    PysparkMissingError without what PySpark speaks to such a server with, UsageError for another URL,
    UnavailableError where nothing listens.
    """
    if find_spec("pyspark") is None:
        raise PysparkMissingError(f"the pipeline needs PySpark; get it with: {how_to_add('pipeline')}")
    if find_spec("grpc") is None or find_spec("grpc_status") is None:
        raise PysparkMissingError("a Spark Connect server is spoken to with: pip install 'pyspark[connect]'")
    require_connect_server(url)
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.remote(url).getOrCreate()
    for key, value in (_settings("", "") | dict(settings or {})).items():
        if spark.conf.isModifiable(key):
            spark.conf.set(key, value)
    _register_sources(spark)
    return spark


def is_remote(spark: SparkSession) -> bool:
    """Whether a session is one of a Spark Connect server, whose class needs what not everybody has."""
    return ".connect." in type(spark).__module__


def count_slots(spark: SparkSession) -> int:
    """How many tasks run at a time; at a server, how many parts it makes of a join."""
    if is_remote(spark):
        return int(spark.conf.get("spark.sql.shuffle.partitions") or 1)
    return spark.sparkContext.defaultParallelism


def _register_sources(spark: SparkSession) -> None:
    from sandbox.pipeline.sources.bucket_source import BucketSource

    streams = find_stream_source()
    sources: list[type[DataSource]] = [*(streams.SOURCES if streams else ()), BucketSource]
    for source in sources:
        spark.dataSource.register(source)


def _settings(master: str, memory: str) -> dict[str, str]:
    # Spark matches the error of a stopped batch with a regular expression that recurses for each character.
    quiet = f"-Xss8m -Dlog4j2.configurationFile={_LOG_SETTINGS.as_uri()}"
    chosen = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": memory,
        "spark.driver.extraJavaOptions": quiet,
        "spark.sql.session.timeZone": "UTC",
        # Batches are small and their joins have hints: adaptive planning costs more than it gains.
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.shuffle.partitions": str(max(2, os.cpu_count() or 2)),
        "spark.sql.sources.parallelPartitionDiscovery.threshold": "10000",
        "spark.sql.inMemoryColumnarStorage.compressed": "false",
        "spark.sql.streaming.noDataMicroBatches.enabled": "false",
        # A message may be a megabyte, so Arrow batches are bounded by bytes as well as by rows.
        "spark.sql.execution.arrow.maxRecordsPerBatch": "4000",
        "spark.sql.execution.arrow.maxBytesPerBatch": str(32 * 1024 * 1024),
        # On a busy machine Python may take long to answer.
        "spark.python.authenticate.socketTimeout": "60s",
        "spark.python.daemon.module": "sandbox.pipeline.spark.python_daemon",
    }
    if master.startswith("local"):
        # The optimising compiler costs more at start than a run of a minute gains.
        quiet += " -XX:+UseSerialGC -XX:TieredStopAtLevel=1"
        # The default manager starts several processes (readlink, chmod) for each file of a checkpoint.
        chosen |= {
            "spark.driver.extraJavaOptions": quiet,
            "spark.sql.streaming.checkpointFileManagerClass": _FILE_MANAGER,
        }
    if master.startswith("local") or "//127.0.0.1" in master or "//localhost" in master:
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        chosen |= {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
    return chosen
