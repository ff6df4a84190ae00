"""Functions: what an invocation takes, how fast a mapping reads a stream, and what an idle one costs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any, Final

import boto3

from emulator.clock import Clock, stopwatch
from extensions.functions.engine.function_code import zip_files
from extensions.functions.runtime.function_logs import group_of
from rdss_sandbox.questions.deadline import Deadline
from tests.bench.load import Connection
from tests.bench.rows import US, Row
from tests.bench.subjects import SUBJECTS, running

RECORDS: Final = 20_000
INVOCATIONS: Final = 2_000
COLD: Final = 20
IDLE_SECONDS: Final = 20.0
_BATCH: Final = 100
_PUT: Final = 500
_LONGEST_SECONDS: Final = 120.0
_SIGNED: Final = b"AWS4-HMAC-SHA256 Credential=bench/20260101/us-east-1/lambda/aws4_request"
_HANDLER: Final = b"def handler(event, context):\n    return None\n"


def measure(
    records: int = RECORDS,
    invocations: int = INVOCATIONS,
    cold: int = COLD,
    idle_seconds: float = IDLE_SECONDS,
) -> Iterator[Row]:
    """One Python handler that does nothing, in a sandbox of its own."""
    with running(SUBJECTS[0]) as ours:
        assert ours is not None
        aws = _Aws(ours.port)
        with Connection(ours.port) as connection:
            took = [_invoke(connection, aws.make(f"cold{number}")) for number in range(cold)]
            yield Row("function: first invocation, p50", US, median(took) * 1000, "ms")
            aws.make("warm")
            took = [_invoke(connection, "warm") for _ in range(invocations)]
            yield Row("function: warm invocation, p50", US, median(took) * 1000, "ms")
        rate = aws.read_stream(records)
        yield Row(f"mapping: 1 KB records in batches of {_BATCH}", US, rate, "records/s", "more")
        with_mapping = _share(ours.pid, idle_seconds)
        aws.delete_mappings()
        without = _share(ours.pid, idle_seconds)
        yield Row("mapping: processor while nothing comes", US, (with_mapping - without) * 100, "% of a core")


class _Aws:
    """What the benchmark does by boto3, which is not measured."""

    def __init__(self, port: int) -> None:
        self._endpoint = f"http://127.0.0.1:{port}"
        self._lambda = self._client("lambda")

    def make(self, name: str) -> str:
        """Create a function, and return its name."""
        self._lambda.create_function(
            FunctionName=name,
            Runtime="python3.11",
            Handler="nothing.handler",
            Role="arn:aws:iam::000000000000:role/bench",
            Code={"ZipFile": zip_files({"nothing.py": _HANDLER})},
        )
        return name

    def read_stream(self, records: int) -> float:
        """How many records a second a new mapping hands over, of one shard that is full of them."""
        kinesis, logs = self._client("kinesis"), self._client("logs")
        kinesis.create_stream(StreamName="bench", ShardCount=1)
        kinesis.get_waiter("stream_exists").wait(StreamName="bench", WaiterConfig={"Delay": 1})
        for start in range(0, records, _PUT):
            put = [{"Data": b"x" * 1024, "PartitionKey": str(start + each)} for each in range(_PUT)]
            assert not kinesis.put_records(StreamName="bench", Records=put)["FailedRecordCount"]
        name = self.make("reader")
        began, deadline = stopwatch(), Deadline(_LONGEST_SECONDS)
        self._lambda.create_event_source_mapping(
            FunctionName=name,
            EventSourceArn="arn:aws:kinesis:us-east-1:000000000000:stream/bench",
            StartingPosition="TRIM_HORIZON",
            BatchSize=_BATCH,
        )
        while (done := _count_invocations(logs, name)) < records // _BATCH:
            assert not deadline.passed, f"{done} batches of {records // _BATCH} were handed over"
            deadline.pause()
        return records / (stopwatch() - began)

    def delete_mappings(self) -> None:
        for mapping in self._lambda.list_event_source_mappings()["EventSourceMappings"]:
            self._lambda.delete_event_source_mapping(UUID=mapping["UUID"])

    def _client(self, service: str) -> Any:
        keys = {"aws_access_key_id": "bench", "aws_secret_access_key": "bench"}
        made: Any = boto3.client(service, endpoint_url=self._endpoint, region_name="us-east-1", **keys)  # type: ignore[call-overload]
        return made


def _count_invocations(logs: Any, name: str) -> int:
    """How many invocations have ended; there are no logs before the first."""
    try:
        found = logs.filter_log_events(logGroupName=group_of(name), filterPattern='"END RequestId"')
    except logs.exceptions.ResourceNotFoundException:
        return 0
    return len(found["events"])


def _invoke(connection: Connection, name: str) -> float:
    """How long one Invoke takes, in seconds."""
    path = f"/2015-03-31/functions/{name}/invocations".encode()
    request = b"POST %b HTTP/1.1\r\nHost: localhost\r\nAuthorization: %b\r\nContent-Length: 2\r\n\r\n{}"
    began = stopwatch()
    answer = connection.send(request % (path, _SIGNED))
    took = stopwatch() - began
    assert answer == b"null", bytes(answer)
    return took


def _share(pid: int, seconds: float) -> float:
    """The share of a core that a process uses while nothing is asked of it."""
    clock = Clock()
    clock.wait(1.0)
    before, began = _used(pid), stopwatch()
    clock.wait(seconds)
    return (_used(pid) - before) / (stopwatch() - began)


def _used(pid: int) -> float:
    """The seconds of processor that a process has used."""
    threads = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(each.read_text(encoding="ascii").split()[0]) for each in threads) / 1e9
