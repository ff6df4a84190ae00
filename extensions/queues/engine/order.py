"""A queue's messages from the oldest to the newest."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import Final

from extensions.queues.engine.queued_message import Message

_BLOCK: Final = 256


class Order:
    """Messages by number, added in rising order and removed anywhere.

    They are in blocks of neighbouring numbers. So iterating from the middle, and removing
    there, cost the same in a queue of ten and in one of a million messages.
    """

    def __init__(self) -> None:
        self._blocks: dict[int, dict[int, Message]] = {}
        self._starts: list[int] = []
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Message]:
        return self.after(-1)

    def add(self, message: Message) -> None:
        start = message.number // _BLOCK
        block = self._blocks.get(start)
        if block is None:
            block = self._blocks[start] = {}
            self._starts.append(start)
        block[message.number] = message
        self._length += 1

    def get(self, number: int) -> Message | None:
        block = self._blocks.get(number // _BLOCK)
        return block.get(number) if block is not None else None

    def remove(self, number: int) -> None:
        start = number // _BLOCK
        block = self._blocks[start]
        del block[number]
        self._length -= 1
        if not block:
            del self._blocks[start]
            del self._starts[bisect_left(self._starts, start)]

    def after(self, number: int) -> Iterator[Message]:
        """Yield the messages with higher numbers. Nothing may be added or removed meanwhile."""
        first = (number + 1) // _BLOCK
        for start in self._starts[bisect_left(self._starts, first) :]:
            for each in self._blocks[start].values():
                if each.number > number:
                    yield each

    def oldest(self) -> Message | None:
        return next(iter(self), None)

    def newest(self) -> Message | None:
        if not self._starts:
            return None
        block = self._blocks[self._starts[-1]]
        return block[next(reversed(block))]
