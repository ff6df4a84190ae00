"""How long a flush waits for those who are about to come, so that they share it."""

from __future__ import annotations

from emulator.clock import stopwatch


class FlushDelay:
    """Whom a flush let go comes again at once, mostly: four who each wait for every answer share each flush.

    Else they would take turns, in two groups. Nobody waits for longer than the last flush took.
    """

    def __init__(self) -> None:
        self._began = 0.0
        self._answered = 0
        self._expected = 0
        self._until = 0.0

    def left(self, waiting: int) -> float:
        """In how many real seconds a flush for so many is to begin; 0 for at once."""
        return max(0.0, self._until - stopwatch()) if waiting < self._expected else 0.0

    def note_begin(self, answered: int) -> None:
        """Note that a flush begins which lets so many go."""
        self._began, self._answered = stopwatch(), answered

    def note_end(self, waiting: int) -> None:
        """Note that it is over, and how many wait for the next one already."""
        now = stopwatch()
        self._expected = self._answered + waiting
        self._until = now + (now - self._began)
