"""Cutting messages into batches that fit one PutRecords call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

Entry: TypeAlias = tuple[bytes, str]
"""A message and its key."""

MOST_RECORDS: Final = 500
MOST_BYTES: Final = 4_500_000
"""Data and keys of a batch: below the 5 MiB that Kinesis accepts."""


def batches(entries: Sequence[Entry]) -> Iterator[list[Entry]]:
    """Group entries, in order, into batches that fit one call. A message that is too large comes alone."""
    # As they mostly do: no character of a key has more than four bytes.
    most = sum([len(data) + 4 * len(key) for data, key in entries])
    if 0 < len(entries) <= MOST_RECORDS and most <= MOST_BYTES:
        yield [*entries]
        return
    batch: list[Entry] = []
    size = 0
    for data, key in entries:
        weight = len(data) + (len(key) if key.isascii() else len(key.encode()))
        if batch and (len(batch) == MOST_RECORDS or size + weight > MOST_BYTES):
            yield batch
            batch, size = [], 0
        batch.append((data, key))
        size += weight
    if batch:
        yield batch
