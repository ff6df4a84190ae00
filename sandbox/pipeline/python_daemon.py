"""The daemon that Spark forks its Python workers from: ``pyspark.daemon`` with the pipeline imported.

A batch runs in several short-lived workers. Without this, each would import Arrow, the schemas and the
sources.
"""

from __future__ import annotations

import gc
import os
from typing import Any

import pyspark.worker
from pyspark.daemon import manager

_run_task = pyspark.worker.main


def run_task(infile: Any, outfile: Any) -> None:
    """Run the next task that comes on the socket; leave without a word when the JVM has closed it."""
    # PySpark's own worker would try to send the end of the stream as an error, and print that it could not.
    if not infile.peek(1):
        os._exit(0)
    _run_task(infile, outfile)


if __name__ == "__main__":
    import pandas as pd  # noqa: F401 - imported before the fork, for every worker

    import sandbox.pipeline.bucket_source
    import sandbox.pipeline.files
    import sandbox.pipeline.kinesis_source
    import sandbox.pipeline.parsing
    import sandbox.pipeline.routing
    import sandbox.pipeline.sequences
    import sandbox.pipeline.storing

    # The first verdict compiles the validators, here before the fork.
    sandbox.pipeline.parsing.verdict(b"{}", 0.0)
    pyspark.worker.main = run_task
    # PySpark collects garbage after each task. Without this it looks through all modules, for 30 ms.
    gc.freeze()
    manager()
