"""The readers of shards and how far each has read, followed from one iterator to the next.

An iterator carries no client's name, so a reader is the chain of iterators that begins with GetShardIterator:
each GetRecords uses up one and returns the next. A reader is forgotten when the iterator that it holds
expires.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass

from emulator.kinesis.iterators import LIFETIME_MS, ShardIterator

# Clients that take iterators and never use them must not fill the memory.
_MOST_READERS = 10_000


@dataclass(slots=True)
class Reader:
    """One reader: when its first iterator was made (``began``, ms), its GetRecords calls and its records."""

    began: int
    reads: int = 0
    records: int = 0


class Readers:
    """The readers by the iterator that each holds. Callers hold the registry's lock."""

    def __init__(self) -> None:
        self._holding: OrderedDict[ShardIterator, Reader] = OrderedDict()

    def begin(self, iterator: ShardIterator) -> None:
        """Add a reader: GetShardIterator returned this iterator."""
        self._hold(iterator, Reader(iterator.created))

    def go_on(self, used: ShardIterator, following: ShardIterator | None, records: int) -> None:
        """Follow a reader: GetRecords used ``used``, and returned ``following`` and this many ``records``.

        ``following`` is None at the end of a shard: the reader is forgotten.
        """
        # A client may use an iterator twice, or one of before a restart.
        reader = self._holding.pop(used, None) or Reader(used.created)
        if following is not None:
            reader.reads += 1
            reader.records += records
            self._hold(following, reader)

    def forget_expired(self, now: int) -> None:
        """Forget the readers whose iterator has expired at ``now`` (ms)."""
        for iterator in [each for each in self._holding if now - each.created > LIFETIME_MS]:
            del self._holding[iterator]

    def of(self, stream: int) -> Iterator[tuple[ShardIterator, Reader]]:
        """The readers of the stream with this number, each with the iterator that it holds."""
        return ((iterator, reader) for iterator, reader in self._holding.items() if iterator.stream == stream)

    def _hold(self, iterator: ShardIterator, reader: Reader) -> None:
        self._holding[iterator] = reader
        if len(self._holding) > _MOST_READERS:
            self._holding.popitem(last=False)
