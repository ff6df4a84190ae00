"""Where a consumer of a sharded stream keeps its checkpoints."""

from __future__ import annotations

from typing import Final, Protocol

SHARD_END: Final = "SHARD_END"
"""The checkpoint of a closed shard whose messages are all committed."""


class Checkpoints(Protocol):
    """The checkpoint of each shard of one stream."""

    def get(self, shard: str) -> str | None:
        """The last committed sequence number, ``SHARD_END``, or None when nothing was committed."""

    def put(self, shard: str, sequence_number: str) -> None: ...


class MemoryCheckpoints:
    """Checkpoints that last as long as the process."""

    def __init__(self) -> None:
        self._positions: dict[str, str] = {}

    def get(self, shard: str) -> str | None:
        return self._positions.get(shard)

    def put(self, shard: str, sequence_number: str) -> None:
        self._positions[shard] = sequence_number
