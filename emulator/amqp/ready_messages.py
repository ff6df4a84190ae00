"""The messages of a queue that wait for a consumer: the first as objects, those far behind as numbers only.

    head (deque of entries) <- refilled from - tail (arrays) <- append

A message in the tail takes 32 bytes of memory: its bytes are in the message store.
"""

from __future__ import annotations

import heapq
from array import array
from collections import deque
from collections.abc import Iterator
from typing import Final

from emulator.amqp.message import Entry

_HEAD_ENTRIES: Final = 2048
_REFILL: Final = 512
_NEVER: Final = float("inf")


class ReadyMessages:
    """Entries in the order of their numbers. One that was taken out may be put back into its place."""

    def __init__(self) -> None:
        self._head: deque[Entry] = deque()
        self._references = array("Q")
        self._numbers = array("Q")
        self._sizes = array("I")
        self._expiries = array("d")
        # The attempts to deliver, and in the lowest bit whether it was delivered before.
        self._attempts = array("I")
        self._begin = 0

    def __len__(self) -> int:
        return len(self._head) + len(self._numbers) - self._begin

    @property
    def first(self) -> Entry | None:
        if not self._head:
            self._refill()
        return self._head[0] if self._head else None

    def append(self, entry: Entry) -> bool:
        """Add an entry behind all others. Returns False when it was reduced to its numbers.

        That is possible only for one that is stored.
        """
        # Behind a tail all goes into the tail, or it would overtake.
        tail = len(self._numbers) > self._begin
        if not tail and (len(self._head) < _HEAD_ENTRIES or not entry.reference):
            self._head.append(entry)
            return True
        if not entry.reference:
            # Without a store there is no tail: all of it becomes the head again.
            while len(self._numbers) > self._begin:
                self._refill()
            self._head.append(entry)
            return True
        self._references.append(entry.reference)
        self._numbers.append(entry.number)
        self._sizes.append(entry.size)
        self._expiries.append(_NEVER if entry.expires is None else entry.expires)
        self._attempts.append(entry.attempts << 1 | entry.redelivered)
        return False

    def extend(self, entries: list[Entry]) -> list[Entry]:
        """Add entries, all stored or none, behind all others; return those that were reduced to numbers."""
        has_room = len(self._head) + len(entries) <= _HEAD_ENTRIES or not entries[0].reference
        if has_room and len(self._numbers) == self._begin:
            self._head += entries
            return []
        return [entry for entry in entries if not self.append(entry)]

    def pop(self) -> Entry:
        """Remove and return the first entry. Raises IndexError when there is none."""
        if not self._head:
            self._refill()
        return self._head.popleft()

    def put_back(self, entries: list[Entry]) -> None:
        """Put entries back into their places, by their numbers."""
        entries.sort(key=_number)
        # The usual case: what was out comes back before all that waits, and nothing need be merged.
        if not self._head or entries[-1].number < self._head[0].number:
            self._head.extendleft(reversed(entries))
        else:
            self._head = deque(heapq.merge(self._head, entries, key=_number))

    def drain(self) -> Iterator[Entry]:
        """Remove and yield every entry in order."""
        while self.first is not None:
            yield self._head.popleft()

    def _refill(self) -> None:
        until = min(self._begin + _REFILL, len(self._numbers))
        for at in range(self._begin, until):
            expires = self._expiries[at]
            self._head.append(
                Entry(
                    self._numbers[at],
                    None,
                    size=self._sizes[at],
                    reference=self._references[at],
                    expires=None if expires == _NEVER else expires,
                    redelivered=bool(self._attempts[at] & 1),
                    attempts=self._attempts[at] >> 1,
                )
            )
        self._begin = until
        # Cut now and then only: each cut copies what stays.
        if self._begin > len(self._numbers) // 2:
            for column in self._columns():
                del column[: self._begin]
            self._begin = 0

    def _columns(self) -> tuple[array[int] | array[float], ...]:
        return self._references, self._numbers, self._sizes, self._expiries, self._attempts


def _number(entry: Entry) -> int:
    return entry.number
