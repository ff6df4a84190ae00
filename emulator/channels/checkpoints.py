"""Where a consumer of sharded streams keeps how far it is."""

from __future__ import annotations

from typing import Final, Protocol

SHARD_END: Final = "SHARD_END"
"""The position of a closed shard whose every message was committed."""


class Checkpoints(Protocol):
    """The last committed position of each shard of one stream."""

    def get(self, shard: str) -> str | None:
        """The sequence number last committed, ``SHARD_END``, or None when nothing was."""

    def put(self, shard: str, sequence_number: str) -> None: ...


class MemoryCheckpoints:
    """Checkpoints that last as long as the process."""

    def __init__(self) -> None:
        self._positions: dict[str, str] = {}

    def get(self, shard: str) -> str | None:
        return self._positions.get(shard)

    def put(self, shard: str, sequence_number: str) -> None:
        self._positions[shard] = sequence_number
