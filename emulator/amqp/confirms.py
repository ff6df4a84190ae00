"""The confirms of one channel's publishes, in the order of their numbers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from emulator.amqp.wire.methods import BasicAck, BasicNack


class Confirms:
    """Publishes that were taken or refused, and of which the client has not heard."""

    def __init__(self) -> None:
        self._last = 0
        self._waiting: list[tuple[int, bool]] = []

    def number_publish(self) -> int:
        """The number of the next publish."""
        self._last += 1
        return self._last

    def answer(self, number: int, *, taken: bool) -> None:
        self._waiting.append((number, taken))

    def take(self) -> Iterator[BasicAck | BasicNack]:
        """Yield the confirms of all that waits. Neighbours of one kind share one."""
        waiting = self._waiting
        if not waiting:
            return
        self._waiting = []
        if len(waiting) == 1 and waiting[0][1]:
            yield BasicAck(waiting[0][0], multiple=False)
            return
        for taken, group in groupby(waiting, key=lambda each: each[1]):
            numbers = [number for number, _ in group]
            if taken:
                yield BasicAck(numbers[-1], multiple=len(numbers) > 1)
            else:
                yield BasicNack(numbers[-1], multiple=True, requeue=True)
