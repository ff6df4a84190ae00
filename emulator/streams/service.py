"""Streams as the sandbox's own parts use them: this process's engine, or those of an upstream."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from emulator.kinesis import ReaderView, Scope, ShardView, StoredRecord, StreamView


class StreamService(Protocol):
    """What index, audit, fault stage and control API need; synchronous and thread-safe."""

    def call(self, operation: str, request: dict[str, Any], scope: Scope, /) -> dict[str, Any]:
        """Do a Kinesis operation in botocore's shapes. Raises ``KinesisError``."""

    def scopes(self) -> list[Scope]:
        """Every account and region that has a stream."""

    def streams(self, scope: Scope, /) -> list[StreamView]:
        """Every stream of an account in a region, by name."""

    def read(
        self, stream: str, shard_id: str, after: str | None, limit: int, scope: Scope | None = None, /
    ) -> list[StoredRecord]:
        """Up to ``limit`` records of a shard after a sequence number; None starts at the oldest.

        Raises ``KinesisError`` when there is no such stream, shard or sequence number.
        """

    def at(self, stream: str, shard_id: str, sequence_number: str, scope: Scope, /) -> bytes | None:
        """The data of one record, None when it is gone; no reader is counted for it. Raises as ``read``."""

    def readers(self, stream: str, scope: Scope, /) -> list[ReaderView] | None:
        """Who reads a stream; None where reading passes somewhere else. Raises ``KinesisError``."""

    def unread(self, stream: str, shard: ShardView, after: str | None, /) -> int:
        """How many records of a shard are known to be behind a sequence number; None: all of them."""

    def on_records(self, callback: Callable[[str, str], None], /) -> Callable[[], None]:
        """Have ``callback(stream name, shard id)`` called when there may be records; returns what ends it."""

    def close(self) -> None: ...
