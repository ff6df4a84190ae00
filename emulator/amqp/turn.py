"""Turns: how long the broker works at once, whatever a client asks for.

Long work is done in steps. Between two of them a turn may end, and other connections have theirs.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Final, TypeAlias, TypeVar

from emulator.clock import stopwatch

TURN_SECONDS: Final = 0.002
ITEMS_OF_A_STEP: Final = 128
"""Queues or messages that one step handles: some of them have work of their own behind them."""

Result = TypeVar("Result")
Steps: TypeAlias = Iterator[None]
"""Work that is done while it is iterated."""
StepsTo: TypeAlias = Generator[None, None, Result]
"""Work in steps that has a result."""


class Turn:
    """The turn of a connection, or of what is left for later."""

    __slots__ = ("_until",)

    def __init__(self) -> None:
        self._until = 0.0

    def begin(self) -> None:
        self._until = stopwatch() + TURN_SECONDS

    @property
    def is_over(self) -> bool:
        return stopwatch() >= self._until

    def run(self, steps: Steps) -> bool:
        """Do one step, and more until the turn is over; return whether all are done."""
        for _ in steps:
            if self.is_over:
                break
        else:
            return True
        return False
