"""Kinesis through the AWS relay beside a direct connection to the same upstream, the two taking turns."""

from __future__ import annotations

import base64
import sys
from collections.abc import Iterator
from contextlib import ExitStack

from tests.bench.load import Connection, put_records, rendered, repeated
from tests.bench.rows import US, Row
from tests.bench.subjects import Start, Subject, running

BATCH, RECORD_BYTES = 500, 1_000
SECONDS = 4.0
CALLS, BATCHES, ROUNDS = 1_500, 100, 3
DIRECTLY = "directly"
_OURS = ("--control-port", "0", "--amqp", "none", "--topology", "none")


def measure(seconds: float = SECONDS, rounds: int = ROUNDS) -> Iterator[Row]:
    """The better of some rounds. The upstream is a sandbox of ours, so the relay can hide behind nothing."""
    with ExitStack() as stack:
        upstream = stack.enter_context(running(Subject(DIRECTLY, lambda port: _sandbox(port, "embedded"))))
        assert upstream is not None
        url = f"http://127.0.0.1:{upstream.port}"
        relay = stack.enter_context(
            running(Subject(US, lambda port: _sandbox(port, "relay", "--upstream-aws", url)))
        )
        assert relay is not None
        with Connection(upstream.port) as connection:
            connection.call("CreateStream", {"StreamName": "one", "ShardCount": 1})
        ports = {DIRECTLY: upstream.port, US: relay.port}
        found = [
            row for _ in range(rounds) for name, port in ports.items() for row in _round(name, port, seconds)
        ]
    for row in found[: len(found) // rounds]:
        same = [other.value for other in found if other[:2] == row[:2]]
        yield row._replace(value=max(same) if row.better == "more" else min(same))


def _sandbox(port: int, profile: str, *more: str) -> Start:
    command = [sys.executable, "-m", "sandbox", "up", "--json", "--profile", profile, "--aws-port", str(port)]
    return Start([*command, *_OURS, *more])


def _round(name: str, port: int, seconds: float) -> Iterator[Row]:
    data = base64.b64encode(bytes(i % 251 for i in range(RECORD_BYTES))).decode()
    ones = [
        rendered("PutRecord", {"StreamName": "one", "Data": data, "PartitionKey": f"key-{i}"})
        for i in range(50)
    ]
    repeated(port, ones, 50, seconds=seconds)
    timing = repeated(port, ones, CALLS, seconds=seconds)
    yield Row("AWS relay, PutRecord 1 KB, p50", name, timing.quantile(0.5) * 1e3, "ms")
    yield Row("AWS relay, PutRecord 1 KB, p99", name, timing.quantile(0.99) * 1e3, "ms")
    many = [put_records("one", BATCH, RECORD_BYTES, salt) for salt in range(4)]
    timing = repeated(port, many, BATCHES, seconds=seconds)
    rate = BATCH * len(timing.each) / timing.total
    yield Row("AWS relay, PutRecords 500 x 1 KB", name, rate, "records/s", "more")
