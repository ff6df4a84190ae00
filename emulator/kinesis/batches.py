"""What fits one PutRecords call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

Entry: TypeAlias = tuple[bytes, str]
"""A message and its key."""

MOST_RECORDS: Final = 500
MOST_BYTES: Final = 4_500_000
"""Below the 5 MiB that Kinesis takes, keys and all."""


def batches(entries: Sequence[Entry]) -> Iterator[list[Entry]]:
    """Entries in order, in groups that one call takes; a message that is too large stands alone."""
    batch: list[Entry] = []
    size = 0
    for data, key in entries:
        weight = len(data) + len(key.encode())
        if batch and (len(batch) == MOST_RECORDS or size + weight > MOST_BYTES):
            yield batch
            batch, size = [], 0
        batch.append((data, key))
        size += weight
    if batch:
        yield batch
