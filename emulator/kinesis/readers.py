"""Who reads which shard from where: each reader followed from one iterator to the next.

An iterator carries no name, so a reader is the chain of iterators that begins with GetShardIterator: each
GetRecords gives one back and takes one along. A reader is forgotten when the iterator that it holds expires.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass

from emulator.kinesis.iterators import LIFETIME_MS, ShardIterator

_MOST_READERS = 10_000


@dataclass(slots=True)
class Reader:
    """One reader: ``began`` is when its first iterator was made, in ms; how often and how much it read."""

    began: int
    reads: int = 0
    records: int = 0


class Readers:
    """The readers by the iterator that each holds. Whoever uses it holds the registry's lock."""

    def __init__(self) -> None:
        self._holding: OrderedDict[ShardIterator, Reader] = OrderedDict()

    def begin(self, iterator: ShardIterator) -> None:
        """GetShardIterator gave this one."""
        self._hold(iterator, Reader(iterator.created))

    def go_on(self, used: ShardIterator, following: ShardIterator | None, records: int) -> None:
        """GetRecords took ``used`` and gave ``following``, None at a shard's end, with so many records."""
        reader = self._holding.pop(used, None) or Reader(used.created)
        if following is not None:
            reader.reads += 1
            reader.records += records
            self._hold(following, reader)

    def of(self, stream: int, now: int) -> Iterator[tuple[ShardIterator, Reader]]:
        """The readers of a stream by its number at ``now`` ms, each with the iterator that it holds."""
        for iterator in [each for each in self._holding if now - each.created > LIFETIME_MS]:
            del self._holding[iterator]
        return ((iterator, reader) for iterator, reader in self._holding.items() if iterator.stream == stream)

    def _hold(self, iterator: ShardIterator, reader: Reader) -> None:
        self._holding[iterator] = reader
        if len(self._holding) > _MOST_READERS:
            self._holding.popitem(last=False)
