"""The 128-bit space of hash keys, which the open shards of a stream divide among them."""

from __future__ import annotations

MAX_HASH_KEY = (1 << 128) - 1


def uniform(count: int) -> list[tuple[int, int]]:
    """Divide the whole space into ``count`` ranges (first, last) whose sizes differ by at most one."""
    width = (1 << 128) // count
    starts = [i * width for i in range(count)]
    return [(start, end - 1) for start, end in zip(starts, [*starts[1:], 1 << 128], strict=True)]
