"""The 128-bit space of hash keys that the shards of a stream divide between them."""

from __future__ import annotations

MAX_HASH_KEY = (1 << 128) - 1


def uniform(count: int) -> list[tuple[int, int]]:
    """The whole space in ``count`` ranges (first, last) of a size that differs by at most one."""
    width = (1 << 128) // count
    starts = [i * width for i in range(count)]
    return [(start, end - 1) for start, end in zip(starts, [*starts[1:], 1 << 128], strict=True)]
