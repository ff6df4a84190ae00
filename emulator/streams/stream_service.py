"""Streams as the sandbox's own components use them: this process's engine, or those of an upstream."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from emulator.kinesis import ReaderView, Scope, ShardView, StoredRecord, StreamView


class StreamService(Protocol):
    """What the index, the audit, the fault engine and the control API need. Synchronous and thread-safe."""

    def call(self, operation: str, request: dict[str, Any], scope: Scope, /) -> dict[str, Any]:
        """Do a Kinesis operation, with botocore's request and response shapes. Raises ``KinesisError``."""

    def scopes(self) -> list[Scope]:
        """Every account and region with a stream."""

    def names(self, scope: Scope, /) -> list[str]:
        """The names of the streams of an account and region, without what is in them."""

    def streams(self, scope: Scope, /) -> list[StreamView]:
        """Every stream of an account and region, by name."""

    def read(
        self, stream: str, shard_id: str, after: str | None, limit: int, scope: Scope | None = None, /
    ) -> list[StoredRecord]:
        """Up to ``limit`` records of a shard after the sequence number ``after``; None starts at the oldest.

        Raises ``KinesisError`` when there is no such stream, shard or sequence number.
        """

    def at(self, stream: str, shard_id: str, sequence_number: str, scope: Scope, /) -> bytes | None:
        """The data of one record, or None when it is gone. It counts as no reader. Raises as ``read``."""

    def readers(self, stream: str, scope: Scope, /) -> list[ReaderView] | None:
        """The readers of a stream; None where the sandbox does not see them. Raises ``KinesisError``."""

    def unread(self, stream: str, shard: ShardView, after: str | None, /) -> int:
        """Count the known records of a shard after the sequence number ``after``; None counts all."""

    def on_records(self, callback: Callable[[str, str], None], /) -> Callable[[], None]:
        """Call ``callback(stream name, shard id)`` when there may be new records. Returns what ends that."""

    def close(self) -> None: ...
