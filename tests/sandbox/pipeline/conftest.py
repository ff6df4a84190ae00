"""A sandbox's own AWS endpoint, and one Spark session for all of these tests."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import boto3
import pytest

from emulator.embedded import Embedded, embedded
from emulator.resources import Topology
from emulator.settings import Settings


@dataclass(frozen=True)
class Endpoint:
    """An emulator in this process, and what puts records into it."""

    emulator: Embedded

    @property
    def url(self) -> str:
        return self.emulator.aws

    def client(self, service: str) -> Any:
        return boto3.client(
            service,
            endpoint_url=self.url,
            region_name="us-east-1",
            aws_access_key_id="test",
            aws_secret_access_key="test",
        )

    def stream(self, shards: int = 1) -> str:
        """A new stream of its own for a test."""
        name = f"s-{uuid.uuid5(uuid.NAMESPACE_OID, str(len(self.names())))}"
        self.client("kinesis").create_stream(StreamName=name, ShardCount=shards)
        return name

    def names(self) -> list[str]:
        return list(self.client("kinesis").list_streams(Limit=1000)["StreamNames"])

    def put(self, stream: str, records: list[bytes], key: str | None = None) -> None:
        kinesis = self.client("kinesis")
        for number, some in enumerate(_batches(records, 200)):
            entries = [
                {"Data": data, "PartitionKey": key or f"{number}-{at}"} for at, data in enumerate(some)
            ]
            answer = kinesis.put_records(StreamName=stream, Records=entries)
            assert answer["FailedRecordCount"] == 0


def _batches(records: list[bytes], most: int) -> Iterator[list[bytes]]:
    """As many records a call as AWS takes, and no more than four megabytes."""
    some: list[bytes] = []
    for record in records:
        if len(some) == most or sum(map(len, some)) + len(record) > 4_000_000:
            yield some
            some = []
        some.append(record)
    if some:
        yield some


@pytest.fixture(scope="session")
def endpoint(credentials: None) -> Iterator[Endpoint]:
    settings = Settings(aws_port=0, control_port=0, data_dir=None, topology=Topology())
    with embedded(settings) as emulator:
        yield Endpoint(emulator)


@pytest.fixture(scope="session")
def credentials() -> Iterator[None]:
    """Credentials for every process that Spark starts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ACCESS_KEY_ID", "test")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "test")
        patch.setenv("AWS_REGION", "us-east-1")
        yield


@pytest.fixture(scope="session")
def spark(credentials: None) -> Iterator[Any]:
    from sandbox.pipeline.session import open_session

    session = open_session("local[2]", memory="1g")
    yield session
    session.stop()
