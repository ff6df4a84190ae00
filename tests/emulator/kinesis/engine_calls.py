"""What tests do to streams by calling operations of an engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from emulator.clock import Clock
from emulator.events import Events
from emulator.kinesis import Engine, KinesisError, Scope

NOON = 1_790_000_000.0


SCOPE = Scope("000000000000", "eu-west-2")


class Calls:
    """What the suite does to streams by calling operations; a child says whom they are asked of.

    ``name`` is the stream's of a test, ``arn`` its ARN; ``clock`` is that of whoever answers.
    """

    name: str
    arn: str
    clock: Any

    def __call__(self, operation: str, /, **request: Any) -> dict[str, Any]:
        raise NotImplementedError

    def pass_by(self, seconds: float) -> None:
        """Let time pass where the streams are."""
        self.clock.advance(seconds)

    def create(self, name: str | None = None, shards: int = 1, **more: Any) -> None:
        self("CreateStream", StreamName=name or self.name, ShardCount=shards, **more)

    def put(self, data: bytes = b"data", key: str = "key", **more: Any) -> dict[str, Any]:
        return self("PutRecord", StreamName=self.name, Data=data, PartitionKey=key, **more)

    def iterator(
        self, shard: int = 0, kind: str = "TRIM_HORIZON", name: str | None = None, **more: Any
    ) -> str:
        at = {"StreamName": name or self.name, "ShardId": f"shardId-{shard:012d}", "ShardIteratorType": kind}
        token: str = self("GetShardIterator", **at, **more)["ShardIterator"]
        return token

    def get(self, iterator: str, **more: Any) -> dict[str, Any]:
        return self("GetRecords", ShardIterator=iterator, **more)

    def drain(self, shard: int = 0, **more: Any) -> list[bytes]:
        """The data of every record of a shard."""
        found: list[bytes] = []
        iterator: str | None = self.iterator(shard)
        while iterator is not None:
            answer = self.get(iterator, **more)
            found += [record["Data"] for record in answer["Records"]]
            iterator = answer.get("NextShardIterator") if answer["Records"] else None
        return found

    def shards(self, name: str | None = None, **more: Any) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self("ListShards", StreamName=name or self.name, **more)["Shards"]
        return found

    def refuses(self, code: str, match: str | None, operation: str, /, **request: Any) -> KinesisError:
        """That the operation raises the error ``code`` with a message that matches."""
        with pytest.raises(KinesisError, match=match) as caught:
            self(operation, **request)
        assert caught.value.code == code
        return caught.value


class Api(Calls):
    """An engine, its clock and its events; calling it does an operation."""

    name = "s"
    arn = "arn:aws:kinesis:eu-west-2:000000000000:stream/s"

    def __init__(self, directory: Path | None, **options: Any) -> None:
        self.directory = directory
        self.options = options
        self.clock = Clock(frozen_at=NOON)
        self.events = Events(self.clock)
        self.engine = Engine(directory, self.clock, self.events, **options)

    def __call__(self, operation: str, /, scope: Scope = SCOPE, **request: Any) -> dict[str, Any]:
        return self.engine.call(operation, request, scope)

    def restart(self) -> None:
        """The next process on the same directory; in memory, where there is none, the same one."""
        if self.directory is not None:
            self.engine.close()
            self.engine = Engine(self.directory, self.clock, self.events, **self.options)
