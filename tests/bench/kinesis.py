"""Kinesis, us and our peers one after another: start, memory, latency, throughput, large records, depth."""

from __future__ import annotations

import base64
import sys
from collections.abc import Callable, Iterable, Iterator

from tests.bench.load import BadAnswerError, Connection, drained, put_records, rendered, repeated
from tests.bench.rows import US, Row
from tests.bench.subjects import SUBJECTS, Running, Subject, resident_megabytes, running

SHARDS = [f"shardId-{i:012d}" for i in range(4)]
BATCH, RECORD_BYTES = 500, 1_000
SECONDS = 8.0
DEPTH = 200_000
_DEEP_RECORD_BYTES = 100
_MEBI = 1_000_000


def measure(depth: int = DEPTH, only: tuple[str, ...] = ()) -> Iterator[Row]:
    """Every subject in turn, alone on the machine. ``depth`` is for us; peers go to the default at most."""
    for subject in SUBJECTS:
        if only and subject.name not in only:
            continue
        sys.stderr.write(f"{subject.name} ...\n")
        try:
            yield from _measure(subject, depth if subject.name == US else min(depth, DEPTH))
        except (BadAnswerError, OSError) as error:
            sys.stderr.write(f"{subject.name}: {error}\n")


def _measure(subject: Subject, depth: int) -> Iterator[Row]:
    with running(subject) as found:
        if found is None:
            sys.stderr.write(f"{subject.name} is not installed here\n")
            return
        yield Row("ready", subject.name, found.ready_seconds, "s")
        yield Row("memory, idle", subject.name, resident_megabytes(found.pid), "MB")
        _create_streams(found)
        for part in (_latency, _writes, _reads, _large):
            yield from _surviving(subject, part, found)
        yield from _surviving(subject, lambda s, r: _depth(s, r, depth), found)
        yield Row("memory, at the end", subject.name, resident_megabytes(found.pid), "MB")


def _surviving(
    subject: Subject, part: Callable[[str, Running], Iterable[Row]], found: Running
) -> Iterator[Row]:
    """The rows of one part; a subject that fails at it goes on to the next."""
    try:
        yield from part(subject.name, found)
    except (BadAnswerError, OSError) as error:
        sys.stderr.write(f"{subject.name}: {error}\n")


def _create_streams(found: Running) -> None:
    with Connection(found.port) as connection:
        for name, shards in (("many", 4), ("one", 1), ("large", 1), ("deep", 1)):
            connection.call("CreateStream", {"StreamName": name, "ShardCount": shards})
    for name in ("many", "one", "large", "deep"):
        _wait_until_active(found, name)


def _wait_until_active(found: Running, name: str) -> None:
    with Connection(found.port) as connection:
        for _ in range(5_000):
            described = connection.call("DescribeStreamSummary", {"StreamName": name})
            summary = described.get("StreamDescriptionSummary", {"StreamStatus": "ACTIVE"})
            if summary["StreamStatus"] == "ACTIVE":
                return
    raise BadAnswerError(f"stream {name} does not become ACTIVE")


def put_record(stream: str, size: int, key: str) -> bytes:
    data = base64.b64encode(bytes(i % 251 for i in range(size))).decode()
    return rendered("PutRecord", {"StreamName": stream, "Data": data, "PartitionKey": key})


def _latency(name: str, found: Running) -> Iterator[Row]:
    requests = [put_record("one", RECORD_BYTES, f"key-{i}") for i in range(50)]
    repeated(found.port, requests, 100, seconds=SECONDS)
    timing = repeated(found.port, requests, 3_000, seconds=SECONDS)
    yield Row("PutRecord, p50", name, timing.quantile(0.5) * 1e3, "ms")
    yield Row("PutRecord, p99", name, timing.quantile(0.99) * 1e3, "ms")


def _writes(name: str, found: Running) -> Iterator[Row]:
    requests = [put_records("many", BATCH, RECORD_BYTES, salt) for salt in range(8)]
    for connections in (1, 4):
        timing = repeated(found.port, requests, 200, connections, seconds=SECONDS)
        rate = BATCH * len(timing.each) / timing.total
        yield Row(f"PutRecords 500 x 1 KB, {_connections(connections)}", name, rate, "records/s", "more")


def _reads(name: str, found: Running) -> Iterator[Row]:
    for connections in (1, 4):
        count, seconds = drained(found.port, "many", SHARDS[:connections], 10_000, seconds=SECONDS)
        if count:
            rate = count / seconds
            yield Row(f"GetRecords, {_connections(connections)}", name, rate, "records/s", "more")


def _large(name: str, found: Running) -> Iterator[Row]:
    timing = repeated(found.port, [put_record("large", _MEBI, "k")], 50, seconds=SECONDS)
    yield Row("PutRecord of 1 MB, p50", name, timing.quantile(0.5) * 1e3, "ms")


def _depth(name: str, found: Running, depth: int) -> Iterator[Row]:
    """Batches into one shard: the first twentieth of them against the last."""
    requests = [put_records("deep", BATCH, _DEEP_RECORD_BYTES, salt) for salt in range(8)]
    seconds = SECONDS * max(1, depth // DEPTH)
    timing = repeated(found.port, requests, depth // BATCH, seconds=seconds)
    twentieth = max(1, len(timing.each) // 20)
    first, last = timing.part(0, twentieth), timing.part(-twentieth, None)
    yield Row("depth reached", name, BATCH * len(timing.each), "records", "more")
    yield Row("PutRecords 500 x 100 B, first twentieth, p50", name, first * 1e3, "ms")
    yield Row("PutRecords 500 x 100 B, last twentieth, p50", name, last * 1e3, "ms")
    yield Row("last twentieth over first", name, last / first, "times")


def _connections(count: int) -> str:
    return f"{count} connection{'s' if count > 1 else ''}"
