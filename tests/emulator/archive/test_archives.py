"""The audit log and the archives of the queues: complete, once each, and readable."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.archive import lambda_loader
from emulator.archive.archives import Archives
from emulator.archive.kinesis_event import make_event
from emulator.channels.checkpoints import MemoryCheckpoints
from emulator.channels.memory import DEFAULT_SCOPE, MemoryChannel
from emulator.clock import Clock
from emulator.events import Events
from emulator.kinesis import Engine
from emulator.streams.amqp_log import AmqpLog
from rdss_sandbox.files.record_lines import ArchivedRecord, RecordAddress, place_in_key, read_line, write_line
from rdss_sandbox.shapes.topology import AuditTap, Topology
from tests.emulator.faulted_brokers import NOON
from tests.waiting import wait_until

TOPOLOGY = Topology(
    streams={"input": 2, "error": 1, "audit": 1},
    audit=AuditTap(taps=("input", "error")),
    archives={"error": "rdss-error"},
)


class Bucket:
    """Buckets in memory and the S3 client of them; it keeps what is put, and fails when told to."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str], bytes] = {}
        self.failing = False
        self.puts = 0

    def client(self) -> Any:
        return self

    def loaded(self, _name: str, _began: Any) -> MemoryCheckpoints:
        return MemoryCheckpoints()

    def put_object(self, **asked: Any) -> None:
        if self.failing:
            raise ConnectionError("S3 is away")
        self.puts += 1
        self.objects[asked["Bucket"], asked["Key"]] = asked["Body"]

    def lines(self, bucket: str) -> list[ArchivedRecord]:
        bodies = [body for (name, _), body in sorted(self.objects.items()) if name == bucket]
        return [read_line(line) for body in bodies for line in body.splitlines()]


class ArchiveBench:
    """An engine with the default streams, and its archives."""

    def __init__(self, directory: Path | None = None) -> None:
        self.clock = Clock(frozen_at=NOON, autojump=True)
        self.events = Events(self.clock)
        self.engine = Engine(directory and directory / "streams", self.clock, self.events)
        self.amqp = AmqpLog(directory and directory / "amqp", self.clock, DEFAULT_SCOPE)
        self.bucket = Bucket()
        there = {view.name for view in self.engine.streams(DEFAULT_SCOPE)}
        for name, shards in TOPOLOGY.streams.items():
            if name not in there:
                self.call("CreateStream", StreamName=name, ShardCount=shards)
        self.archives = Archives(
            streams=self.engine,
            amqp=self.amqp,
            clock=self.clock,
            events=self.events,
            scope=DEFAULT_SCOPE,
            topology=TOPOLOGY,
            buckets=self.bucket,
            checkpoints=directory and directory / "positions",
        )
        self.archives.start()

    def call(self, operation: str, **request: Any) -> dict[str, Any]:
        return self.engine.call(operation, request, DEFAULT_SCOPE)

    def send(self, *messages: bytes, stream: str = "input") -> None:
        channel = MemoryChannel(self.engine, stream, clock=self.clock)
        channel.publish_many([(message, f"key {message[:9]!r}") for message in messages])

    def stored(self, stream: str) -> list[bytes]:
        channel = MemoryChannel(self.engine, stream, clock=self.clock)
        found = []
        while more := channel.read(limit=1000):
            found += [delivery.data for delivery in more]
        return found

    def close(self) -> None:
        self.archives.close()
        self.engine.close()
        self.amqp.close()


@contextmanager
def open_bench(directory: Path | None = None) -> Iterator[ArchiveBench]:
    opened = ArchiveBench(directory)
    try:
        yield opened
    finally:
        opened.close()


def messages(count: int, start: int = 0) -> list[bytes]:
    return [json.dumps({"n": number}).encode() for number in range(start, start + count)]


async def test_every_message_of_every_tapped_stream_is_in_the_audit_bucket_once() -> None:
    """With the place it was dispatched at; the error queue's messages are in their own bucket as well."""
    with open_bench() as there:
        there.send(*messages(1200))
        there.send(*messages(7, start=5000), stream="error")
        await there.archives.drain()
        lines = there.bucket.lines("rdss-audit")
        assert sorted(json.loads(line.data)["n"] for line in lines) == [*range(1200), *range(5000, 5007)]
        assert {line.source.stream for line in lines if line.source} == {"input", "error"}
        errors = there.bucket.lines("rdss-error")
        assert [json.loads(line.data)["n"] for line in errors] == list(range(5000, 5007))


async def test_what_was_published_through_amqp_is_audited_once(tmp_path: Path) -> None:
    """Under the queue's name, beside the stream's of that name; a restart copies none of it again."""
    with open_bench(tmp_path) as there:
        there.send(*messages(3))
        there.amqp.record("input", [(data, "key") for data in messages(4, start=100)])
        there.amqp.record("error", [(data, "key") for data in messages(2, start=200)])
        there.amqp.record("elsewhere", [(b"not tapped", "key")])
        await there.archives.drain()
        assert len(there.bucket.lines("rdss-audit")) == 9
        assert len(there.bucket.lines("rdss-error")) == 2
    with open_bench(tmp_path) as there:
        there.amqp.record("input", [(data, "key") for data in messages(1, start=104)])
        await there.archives.drain()
        lines = there.bucket.lines("rdss-audit")
        sources = [(line.source.stream, json.loads(line.data)["n"]) for line in lines if line.source]
        assert sorted(sources) == [
            *(("amqp:error", number) for number in (200, 201)),
            *(("amqp:input", number) for number in range(100, 105)),
            *(("input", number) for number in range(3)),
        ]


async def test_the_audit_log_says_when_it_is_complete() -> None:
    """``pending`` counts what is not in its bucket yet, and is 0 once all is."""
    with open_bench() as there:
        there.bucket.failing = True
        there.send(*messages(30))
        with pytest.raises(ConnectionError):
            await there.archives.drain()
        status = there.archives.status
        assert status is not None
        assert (status.copied, status.delivered, status.pending) == (30, 0, 30)
        there.bucket.failing = False
        await there.archives.drain()
        status = there.archives.status
        assert status is not None
        assert (status.copied, status.delivered, status.pending, status.objects) == (30, 30, 0, 1)


async def test_a_batch_that_failed_is_delivered_again_under_the_same_name() -> None:
    """So that nothing is lost and nothing is there twice when S3 comes back."""
    with open_bench() as there:
        there.send(*messages(10))
        await there.archives.drain()
        first = dict(there.bucket.objects)
        channel = MemoryChannel(there.engine, "audit", clock=there.clock)
        event = make_event("arn:aws:kinesis:us-east-1:000000000000:stream/audit", channel.read(limit=500))
        lambda_loader.Loader("rdss-audit", lambda: there.bucket, sources=True)(event)
        assert there.bucket.objects == first


async def test_it_keeps_up_by_itself_while_messages_come() -> None:
    """Without anybody asking for it."""
    with open_bench() as there:
        there.send(*messages(50))
        wait_until(lambda: len(there.bucket.lines("rdss-audit")) >= 50)


async def test_nothing_is_audited_twice_after_a_restart(tmp_path: Path) -> None:
    """The tap goes on where it was, also when it crashed between copying and writing down how far it was."""
    with open_bench(tmp_path) as there:
        there.send(*messages(600))
        await there.archives.drain()
        positions = (tmp_path / "positions").read_bytes()
        there.send(*messages(300, start=600))
        await there.archives.drain()
    (tmp_path / "positions").write_bytes(positions)
    with open_bench(tmp_path) as again:
        again.send(*messages(100, start=900))
        await again.archives.drain()
        assert sorted(json.loads(data)["n"] for data in again.stored("audit")) == list(range(1000))


async def test_the_buckets_are_loaded_anew_by_the_next_process(tmp_path: Path) -> None:
    """The streams last, the buckets of the sandbox do not."""
    with open_bench(tmp_path) as there:
        there.send(*messages(20))
        await there.archives.drain()
    with open_bench(tmp_path) as again:
        assert again.bucket.objects == {}
        await again.archives.drain()
        assert len(again.bucket.lines("rdss-audit")) == 20


async def test_the_audit_follows_a_reshard() -> None:
    """Of a tapped stream, and of the audit stream itself."""
    with open_bench() as there:
        for number, stream in enumerate(("input", "audit", "input")):
            there.send(*messages(100, start=100 * number))
            await there.archives.drain()
            shard = next(s for s in there.call("ListShards", StreamName=stream)["Shards"][::-1])
            low, high = (int(shard["HashKeyRange"][f"{end}HashKey"]) for end in ("Starting", "Ending"))
            key = str((low + high) // 2)
            there.call("SplitShard", StreamName=stream, ShardToSplit=shard["ShardId"], NewStartingHashKey=key)
        there.send(*messages(100, start=300))
        await there.archives.drain()
        lines = there.bucket.lines("rdss-audit")
        assert sorted(json.loads(line.data)["n"] for line in lines) == list(range(400))


async def test_a_message_as_large_as_a_stream_takes_is_audited() -> None:
    """Although its copy has a longer key."""
    with open_bench() as there:
        there.send(b"x" * (1_048_576 - 20))
        await there.archives.drain()
        assert [len(line.data) for line in there.bucket.lines("rdss-audit")] == [1_048_576 - 20]


async def test_a_stream_made_anew_under_its_name_is_audited_from_its_beginning(tmp_path: Path) -> None:
    """Deleted and created by an application: no message of the new one is missed."""
    with open_bench(tmp_path) as there:
        there.send(*messages(20))
        await there.archives.drain()
        there.call("DeleteStream", StreamName="input")
        there.call("CreateStream", StreamName="input", ShardCount=2)
        there.send(*messages(5, start=100))
        await there.archives.drain()
        lines = there.bucket.lines("rdss-audit")
        assert sorted(json.loads(line.data)["n"] for line in lines) == [*range(20), *range(100, 105)]
        status = there.archives.status
        assert status is not None
        assert status.pending == 0


async def test_what_was_read_of_a_stream_that_is_deleted_then_is_loaded() -> None:
    """It waits for a fuller batch, and for nothing else."""
    with open_bench() as there:
        there.send(*messages(5), stream="error")
        there.archives._worker._steps[-2]()  # reads the error queue once
        there.call("DeleteStream", StreamName="error")
        await there.archives.drain()
        assert len(there.bucket.lines("rdss-error")) == 5


async def test_a_reset_begins_anew() -> None:
    """With streams and buckets made anew, and messages that come after it."""
    with open_bench() as there:
        there.send(*messages(20))
        await there.archives.drain()
        for name, shards in TOPOLOGY.streams.items():
            there.call("DeleteStream", StreamName=name)
            there.call("CreateStream", StreamName=name, ShardCount=shards)
        there.bucket.objects.clear()
        there.archives.reset()
        there.send(*messages(5, start=100))
        await there.archives.drain()
        assert [json.loads(d)["n"] for d in sorted(there.stored("audit"))] == list(range(100, 105))
        assert len(there.bucket.lines("rdss-audit")) == 5


async def test_nothing_of_before_a_reset_arrives_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client waits for the audit log meanwhile: what is being put is waited for, and no more is put."""
    with open_bench() as there:
        paused, putting = threading.Event(), threading.Event()
        came_late: list[bool] = []
        put = there.bucket.put_object

        def put_slowly(**asked: Any) -> None:
            putting.set()
            came_late.append(paused.wait(0.2))
            put(**asked)

        monkeypatch.setattr(there.bucket, "put_object", put_slowly)
        there.send(*messages(3), stream="error")
        draining = asyncio.create_task(there.archives.drain())
        await asyncio.to_thread(putting.wait, 60)
        await asyncio.to_thread(there.archives.pause)
        paused.set()
        await draining
        assert not any(came_late)


@given(
    st.one_of(
        st.binary(),
        st.recursive(st.integers() | st.text() | st.none(), st.lists).map(json.dumps).map(str.encode),
    )
)
def test_every_byte_of_a_message_can_be_had_back_from_its_line(data: bytes) -> None:
    """JSON or not, with line breaks or without; and a line is one line."""
    place = RecordAddress("audit", "shardId-000000000000", "4950")
    line = write_line(place, "key", NOON, data, RecordAddress("input", "shardId-000000000001", "4951"))
    assert line.count(b"\n") == 1
    assert line.count(b"\r") == 0
    assert read_line(line).data == data
    assert isinstance(json.loads(line), dict)


def test_json_stands_in_its_line_as_it_was_written() -> None:
    """Spaces, escapes and number formats included: Spark sees the message, an auditor its bytes."""
    data = b'{"a" : 1.0e0, "b":"\\u00e9"}'
    line = write_line(RecordAddress("error", "shardId-000000000000", "4950"), "k", NOON, data, None)
    assert data in line
    assert b"source" not in line


def test_the_place_of_a_copy_is_in_its_key() -> None:
    """And a key that is no place is not taken for one."""
    place = RecordAddress("input/odd", "shardId-000000000001", "4951")
    assert place_in_key(place.key) == place
    assert place_in_key("b6d1a1f0-0000-4000-8000-000000000000") is None


def test_the_handler_is_configured_by_its_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a function deployed to AWS Lambda is: bucket and prefix by name, S3 by AWS_ENDPOINT_URL."""
    bucket = Bucket()
    monkeypatch.setenv("LOADER_BUCKET", "a")
    monkeypatch.setenv("LOADER_PREFIX", "log/")
    monkeypatch.setattr(lambda_loader, "connect_s3", lambda _: lambda: bucket)
    with open_bench() as there:
        there.send(b"1")
        channel = MemoryChannel(there.engine, "input", clock=there.clock, checkpoints=MemoryCheckpoints())
        batch = channel.read()
    lambda_loader.deployed_loader.cache_clear()
    arn = "arn:aws:kinesis:us-east-1:000000000000:stream/audit"
    assert lambda_loader.handler(make_event(arn, batch), None) == {"batchItemFailures": []}
    lambda_loader.deployed_loader.cache_clear()
    (number,) = {delivery.sequence_number for delivery in batch}
    name = f"date=2026-09-21/{batch[0].shard}/{number}-{number}.ndjson"
    assert set(bucket.objects) == {("a", f"log/{name}")}
