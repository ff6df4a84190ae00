"""The daemon that Spark forks its Python workers from: ``pyspark.daemon`` with the pipeline imported.

A batch runs in several short-lived workers. Without this, each would import Arrow, the schemas and the
sources.
"""

from __future__ import annotations

import gc
import os
import socket
from contextlib import suppress
from io import BufferedReader, BufferedWriter

import pyspark.worker
from pyspark.daemon import manager

_run_task = pyspark.worker.main


def run_task(infile: BufferedReader, outfile: BufferedWriter) -> None:
    """Run the next task that comes on the socket.

    The JVM holds back the second half of a task until the first is acknowledged (Nagle's algorithm), which
    the kernel does 40 ms later unless it is told to do it now.
    """
    infile.peek(1)
    if hasattr(socket, "TCP_QUICKACK"):
        with suppress(OSError), socket.socket(fileno=os.dup(infile.fileno())) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
    _run_task(infile, outfile)


if __name__ == "__main__":
    import pandas as pd  # noqa: F401 - imported before the fork, for every worker

    import sandbox.pipeline.sources.bucket_source
    import sandbox.pipeline.stages.parsing
    import sandbox.pipeline.stages.sequences
    import sandbox.pipeline.stages.storing
    import sandbox.pipeline.stages.table_choice
    import sandbox.pipeline.storage.files
    from sandbox.pipeline.sources.stream_source import find_stream_source

    find_stream_source()
    # The first verdict compiles the validators, here before the fork.
    sandbox.pipeline.stages.parsing.judge_record(b"{}", 0.0)
    pyspark.worker.main = run_task
    # PySpark collects garbage after each task. Without this it looks through all modules, for 30 ms.
    gc.freeze()
    manager()
