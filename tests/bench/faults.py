"""What faults and diagnosis cost while no fault strikes and nobody asks: four ports of one process, in turn.

Each round asks all four, in the next of all orders, so that whatever else the machine does, and what a
call leaves behind for the one after it, is done to each of them.
"""

from __future__ import annotations

import base64
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import cycle, islice, permutations
from statistics import median

from emulator.clock import stopwatch
from tests.bench.load import Connection, put_records, rendered
from tests.bench.rows import US, Row

STREAM = "input"
ROUNDS = 300
BATCH, RECORD_BYTES = 500, 1_000
_CASES = ("stage without a fault", "stage with faults for another channel", "recorder of clients")
_WARMING_ROUNDS = 10


def measure(rounds: int = ROUNDS) -> Iterator[Row]:
    """By how much longer a call takes than that of its round at the port without a stage, at the median."""
    with _ports() as ports, ExitStack() as stack:
        connections = [stack.enter_context(Connection(port)) for port in ports]
        connections[0].call("CreateStream", {"StreamName": STREAM, "ShardCount": 1})
        batch = put_records(STREAM, BATCH, RECORD_BYTES)
        yield from _compared(f"PutRecords {BATCH} x 1 KB", connections, batch, rounds)
        yield from _compared("GetRecords of 1,000", connections, _get(connections[0]), rounds * 3)
        yield from _compared("PutRecord 1 KB", connections, _put(), rounds * 10)


def _compared(call: str, connections: list[Connection], request: bytes, rounds: int) -> Iterator[Row]:
    bare, *staged = _timed(connections, request, rounds)
    for case, took in zip(_CASES, staged, strict=True):
        times = median(one / other for one, other in zip(took, bare, strict=True))
        yield Row(f"{call}, cost of a {case}", US, (times - 1) * 100, "%")


def _timed(connections: list[Connection], request: bytes, rounds: int) -> list[list[float]]:
    """Seconds of each call, by connection."""
    took: list[list[float]] = [[] for _ in connections]
    orders = cycle(permutations(range(len(connections))))
    for order in islice(orders, _WARMING_ROUNDS + rounds):
        for at in order:
            began = stopwatch()
            connections[at].send(request)
            took[at].append(stopwatch() - began)
    return [each[_WARMING_ROUNDS:] for each in took]


def _get(connection: Connection) -> bytes:
    shard = connection.call("ListShards", {"StreamName": STREAM})["Shards"][0]["ShardId"]
    place = {"StreamName": STREAM, "ShardId": shard, "ShardIteratorType": "TRIM_HORIZON"}
    iterator = connection.call("GetShardIterator", place)["ShardIterator"]
    return rendered("GetRecords", {"ShardIterator": iterator, "Limit": 1_000})


def _put() -> bytes:
    data = base64.b64encode(bytes(i % 251 for i in range(RECORD_BYTES))).decode()
    return rendered("PutRecord", {"StreamName": STREAM, "Data": data, "PartitionKey": "key"})


@contextmanager
def _ports() -> Iterator[list[int]]:
    command = [sys.executable, "-m", "tests.bench.fault_stages"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        try:
            assert process.stdout is not None
            yield [int(port) for port in process.stdout.readline().split()]
        finally:
            process.terminate()
