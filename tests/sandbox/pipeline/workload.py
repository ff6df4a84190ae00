"""What the pipeline's tests read: an endpoint with streams, and messages of which is known what must come."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import boto3

from emulator.assembly.embedded import Embedded
from emulator.clock import Clock
from emulator.rng import Chance
from schemas.rdss.envelope import serialise
from schemas.rdss.error_codes import ErrorCode
from schemas.rdss.samples import Samples
from schemas.rdss.sequence import split

INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
"""Spark's settings: a dozen rows never earn back what compiling their queries costs."""


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

    def shards(self, stream: str) -> list[str]:
        """The ids of a stream's shards, open or not."""
        listed = self.client("kinesis").list_shards(StreamName=stream)["Shards"]
        return [str(shard["ShardId"]) for shard in listed]

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


@dataclass(frozen=True)
class Load:
    """Records in an order of their own, and what must come of them."""

    records: list[bytes]
    duplicates: int
    bad: Counter[str]
    joined: list[bytes]
    parts: int


def load(seed: int, messages: int, sequences: int) -> Load:
    """Sample messages, sequences of two parts, a bad message of each kind, and every tenth message twice."""
    now = Clock().time()
    samples, draws = Samples(seed, now=now), Chance(seed).draws("load")
    good = [serialise(message) for message in samples.stream(messages)]
    wanted = ("GENERR001", "GENERR002", "GENERR003", "GENERR004", "GENERR007", "GENERR010")
    bad = [samples.bad(ErrorCode(code)) for code in wanted]
    large = [samples.big_message(2, limit=20_000) for _ in range(sequences)]
    parts = [part for message in large for part in split(message, limit=20_000, new_id=draws.uuid4)]
    again = good[::10] + bad[:2] + parts[:1]
    records = good + bad + parts + again
    draws.shuffle(records)
    joined = [serialise(message) for message in large]
    return Load(records, len(again), Counter(wanted), joined, len(parts))
