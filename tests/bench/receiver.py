"""The receiver: messages a second from a stream of four shards into its repository, and what each costs.

The sandbox that serves the stream and the receiver are processes of their own on the same cores, so the
rate has the sandbox's share in it; the processor's time is the receiver's alone.
``python -m tests.bench --area receiver``.
"""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from time import process_time

from emulator.clock import Clock, stopwatch
from sandbox.aws_endpoint import AwsEndpoint
from sandbox.receiver import Arrival
from sandbox.receiver.assembled_receiver import assembled_receiver
from sandbox.receiver.over_kinesis import open_endpoint
from sandbox.repository import Repository
from tests.bench import spark_runs
from tests.bench.rows import US, Row

MESSAGES = 50_000
_WARM_UP = 2_000


def measure(count: int = MESSAGES) -> Iterator[Row]:
    """Valid messages, each of which is judged, remembered and committed with its shard's checkpoint."""
    with spark_runs.sandbox() as (url, folder):
        for queue in ("error", "invalid"):
            spark_runs.fill(url, queue, ())
        spark_runs.fill(url, "messages", spark_runs.messages(_WARM_UP + count))
        yield from spark_runs.in_a_process(__name__, url, folder, count)


def _figures(url: str, folder: Path, count: int) -> Iterator[Row]:
    clock = Clock()

    def take(arrival: Arrival, store: sqlite3.Connection) -> None:
        """Nothing: what is measured is the way to the application."""

    with (
        closing(Repository(folder / "received.sqlite3", clock)) as repository,
        assembled_receiver(
            *open_endpoint(AwsEndpoint(url, "us-east-1"), clock),
            stream="messages",
            repository=repository,
            application=take,
            clock=clock,
        ) as receiver,
    ):
        came = 0
        while came < _WARM_UP:
            came += receiver.step(limit=_WARM_UP - came)
        began, used = stopwatch(), process_time()
        while came < _WARM_UP + count:
            came += receiver.step()
        lasted, used = stopwatch() - began, process_time() - used
    yield Row("messages received", US, count / lasted, "/s", "more")
    yield Row("processor time of a message", US, used / count * 1e6, "µs")


if __name__ == "__main__":
    aws, place, amount = sys.argv[1:]
    spark_runs.print_rows(_figures(aws, Path(place), int(amount)))
