"""One stream, the clients that use it, and what the sandbox says of them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from emulator.assembly.embedded import Embedded
from emulator.clock import Clock
from emulator.rng import new_uuid
from rdss_sandbox.client import Client
from rdss_sandbox.shapes.diagnosis import Finding
from rdss_sandbox.shapes.faults import NewFault
from schemas.rdss.samples import Samples

if TYPE_CHECKING:
    from mypy_boto3_kinesis import KinesisClient


FIRST, LEFT, RIGHT = (f"shardId-{number:012d}" for number in range(3))


class Wire:
    """One stream, the clients that use it, and what the sandbox says of them."""

    def __init__(self, emulator: Embedded, clock: Clock, control: Client) -> None:
        self.emulator = emulator
        self.clock = clock
        self.control = control
        self.stream = f"s-{new_uuid()[:8]}"
        self.samples = Samples(1)
        self.producer = self.client("producer")

    def client(self, key: str, **config: Any) -> KinesisClient:
        """A boto3 client with an access key of this test's own, which sends each request once."""
        import boto3
        from botocore.config import Config

        options = Config(**{"retries": {"total_max_attempts": 1}, **config})
        return boto3.client(
            "kinesis",
            endpoint_url=self.emulator.aws,
            region_name="us-east-1",
            aws_access_key_id=f"{key}-{self.stream}",
            aws_secret_access_key="secret",
            config=options,
        )

    def create(self, shards: int = 1) -> None:
        self.producer.create_stream(StreamName=self.stream, ShardCount=shards)

    def put(self, count: int = 1, key: str | None = None) -> list[str]:
        """Put valid messages, each with a key of its own, and return their messageIds."""
        messages = [self.samples.message() for _ in range(count)]
        for message in messages:
            self.put_bytes(json.dumps(message).encode(), key or new_uuid())
        return [message["messageHeader"]["messageId"] for message in messages]

    def put_bytes(self, data: bytes, key: str = "k") -> None:
        self.producer.put_record(StreamName=self.stream, Data=data, PartitionKey=key)

    def split(self) -> None:
        self.producer.split_shard(StreamName=self.stream, ShardToSplit=FIRST, NewStartingHashKey=str(2**127))

    def iterator(
        self, client: KinesisClient, shard: str = FIRST, start: str = "TRIM_HORIZON", after: str = ""
    ) -> str:
        place = {"StartingSequenceNumber": after} if after else {}
        return client.get_shard_iterator(
            StreamName=self.stream,
            ShardId=shard,
            ShardIteratorType=start,
            **place,  # type: ignore[arg-type]
        )["ShardIterator"]

    def read(self, client: KinesisClient, iterator: str, times: int = 1) -> str:
        """Read so many times, and return the next iterator; empty at the end of the shard."""
        for _ in range(times):
            iterator = client.get_records(ShardIterator=iterator).get("NextShardIterator", "")
        return iterator

    def fault(self, type_: str, **fields: Any) -> str:
        return self.control.add_fault(NewFault(type_, channel=self.stream, **fields)).name

    def findings(self) -> list[Finding]:
        """What is found about this stream, looked through to the end."""
        while not (found := self.control.diagnosis(stream=self.stream)).complete:
            pass
        return list(found.findings)

    def rules(self) -> list[str]:
        return [each.rule for each in self.findings()]

    def find(self, rule: str) -> Finding:
        """The only finding of a rule."""
        (found,) = (each for each in self.findings() if each.rule == rule)
        return found


def names(findings: Iterable[Finding]) -> set[str]:
    return {each.rule for each in findings}
