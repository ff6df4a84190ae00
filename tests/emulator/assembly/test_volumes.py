"""Much of what is small: how much memory and disk the sandbox's process takes when all of it has come."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any, Final, NamedTuple

import boto3
import pika
import pytest
from botocore.config import Config

from emulator.clock import Clock
from rdss_sandbox.client import Client
from rdss_sandbox.process import RunningSandbox, sandbox_process
from tests.sandbox.cli.test_up import resident_bytes

_MEMORY_BYTES: Final = 150_000_000
_DISK: Final = 1.6
_SETTLED_SECONDS: Final = 600
_CALL: Final = 500


class Taken(NamedTuple):
    """Resident bytes in the end, and how many times the bytes that came are on disk."""

    memory: int
    disk: float


def send_records(sandbox: RunningSandbox, count: int) -> int:
    """Records of 100 random bytes to a stream that the audit log copies; returns the bytes."""

    def put(first: int) -> None:
        records = [{"PartitionKey": str(first + i), "Data": os.urandom(100)} for i in range(_CALL)]
        answer = kinesis.put_records(StreamName="input", Records=records)
        assert answer["FailedRecordCount"] == 0

    with closing(client_of(sandbox, "kinesis")) as kinesis, ThreadPoolExecutor(2) as pool:
        for _ in pool.map(put, range(0, count, _CALL)):
            pass
    return count * 100


def client_of(sandbox: RunningSandbox, service: str) -> Any:
    return boto3.client(
        service,  # type: ignore[call-overload]
        endpoint_url=sandbox.aws,
        region_name=sandbox.region,
        aws_access_key_id="test",
        aws_secret_access_key="test",
        config=Config(max_pool_connections=4),
    )


def disk_bytes(folder: Path) -> int:
    """What the files take, without the room that is kept for deletions."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and path.name != "reserve")


def settled(measure: Callable[[], int], most: float) -> Iterator[int]:
    """What is measured each second, until it is little enough or ten minutes are over."""
    clock = Clock()
    while clock.elapsed() < _SETTLED_SECONDS:
        yield (found := measure())
        if found <= most:
            return
        clock.wait(1.0)


def publish_messages(url: str, count: int) -> int:
    """Persistent messages of 1,000 random bytes to a durable queue; returns the bytes."""
    kept = pika.BasicProperties(delivery_mode=2)
    with closing(pika.BlockingConnection(pika.URLParameters(url))) as connection:
        channel = connection.channel()
        channel.queue_declare("bulk", durable=True)
        for _ in range(count):
            channel.basic_publish("", "bulk", os.urandom(1000), kept)
        assert channel.queue_declare("bulk", passive=True).method.message_count == count
    return count * 1000


def put_objects(sandbox: RunningSandbox, count: int) -> int:
    """Objects of 1,000 random bytes, each put by itself; returns the bytes."""

    def put(number: int) -> None:
        s3.put_object(Bucket="many", Key=f"objects/{number:06d}", Body=os.urandom(1000))

    with closing(client_of(sandbox, "s3")) as s3, ThreadPoolExecutor(2) as pool:
        s3.create_bucket(Bucket="many")
        for _ in pool.map(put, range(count)):
            pass
    return count * 1000


def take_messages(data: Path, count: int = 200_000) -> Taken:
    """Each is in its queue, and in the stream of what was published."""
    with sandbox_process("--data-dir", str(data), "--amqp", "embedded") as sandbox:
        assert sandbox.amqp is not None
        size = publish_messages(sandbox.amqp, count)
        *_, disk = settled(lambda: disk_bytes(data), 1.1 * size)
        return Taken(resident_bytes(sandbox.pid), disk / size)


def take_records(data: Path, count: int = 2_000_000) -> Taken:
    """The audit log is far behind when the last of them comes: what it copies then is still on disk once."""
    with sandbox_process("--data-dir", str(data)) as sandbox:
        size = send_records(sandbox, count)
        with Client(sandbox.control) as control:
            *_, pending = settled(lambda: control.audit_status().pending, 0)
        assert pending == 0
        *_, disk = settled(lambda: disk_bytes(data), _DISK * size)
        *_, memory = settled(lambda: resident_bytes(sandbox.pid), _MEMORY_BYTES)
        return Taken(memory, disk / size)


def take_objects(data: Path, count: int = 50_000) -> Taken:
    """The memory is that of the process that took them, or of the next one if that has more."""
    with sandbox_process("--data-dir", str(data)) as sandbox:
        size = put_objects(sandbox, count)
        *_, disk = settled(lambda: disk_bytes(data), _DISK * size)
        *_, memory = settled(lambda: resident_bytes(sandbox.pid), _MEMORY_BYTES)
    with sandbox_process("--data-dir", str(data)) as sandbox:
        with closing(client_of(sandbox, "s3")) as s3:
            assert s3.head_object(Bucket="many", Key="objects/000000")["ContentLength"] == 1000
        *_, restored = settled(lambda: resident_bytes(sandbox.pid), _MEMORY_BYTES)
    return Taken(max(memory, restored), disk / size)


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("take", [take_messages, take_records, take_objects])
def test_memory_and_disk_in_the_end(take: Callable[[Path], Taken], tmp_path: Path) -> None:
    """Under 150 MB of memory, and on disk at most 1.6 times the bytes that came."""
    taken = take(tmp_path / "data")
    assert taken.memory < _MEMORY_BYTES
    assert taken.disk <= _DISK
