"""The shards of a stream as a tree: a split has two branches, a merge names its other parent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rdss_sandbox.shapes.streams import Shard, StreamDetail

HASH_KEYS = 2**128


@dataclass(frozen=True, slots=True)
class Branch:
    """A line of the tree: a stream, where ``shard`` is None, or a shard.

    ``trunk`` is the drawing in front of it. ``others`` are the parents other than the one above it.
    """

    stream: StreamDetail
    trunk: str = ""
    shard: Shard | None = None
    others: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """The name of the line, the same across redraws; rates are kept under it."""
        return f"{self.stream.name}/{self.shard.id}" if self.shard else self.stream.name


def build_branches(streams: Iterable[StreamDetail], folded: frozenset[str] = frozenset()) -> list[Branch]:
    """The streams by name with their shards below, by hash range; streams in ``folded`` have no shards."""
    lines: list[Branch] = []
    for stream in sorted(streams, key=lambda stream: stream.name):
        lines.append(Branch(stream))
        if stream.name not in folded:
            lines.extend(_shards(stream))
    return lines


def hash_bounds(shard: Shard) -> tuple[float, float]:
    """The start and end of the shard's hash key range, as fractions of all hash keys."""
    return int(shard.starting_hash_key) / HASH_KEYS, (int(shard.ending_hash_key) + 1) / HASH_KEYS


def _shards(stream: StreamDetail) -> Iterator[Branch]:
    known = {shard.id: shard for shard in stream.shards}
    below: dict[str, list[Shard]] = {}
    for shard in stream.shards:
        # A parent that expired is not in the list; its children are then roots.
        parent = next((parent for parent in shard.parents if parent in known), "")
        below.setdefault(parent, []).append(shard)

    def walk(parent: str, indent: str) -> Iterator[Branch]:
        family = sorted(below.get(parent, ()), key=lambda shard: int(shard.starting_hash_key))
        for shard in family:
            last = shard is family[-1]
            above = parent or next(iter(shard.parents), "")
            others = tuple(other for other in shard.parents if other != above)
            yield Branch(stream, indent + ("└ " if last else "├ "), shard, others)
            yield from walk(shard.id, indent + ("  " if last else "│ "))

    return walk("", "")
