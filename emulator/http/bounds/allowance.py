"""A token bucket: how often a client may do something."""

from __future__ import annotations

from emulator.clock import stopwatch
from emulator.http.bounds.client_limits import Rate


class Allowance:
    """What is left of a ``Rate``, in seconds of the machine."""

    __slots__ = ("_left", "_rate", "_since")

    def __init__(self, rate: Rate) -> None:
        self._rate = rate
        self._left = float(rate.at_once)
        self._since = stopwatch()

    def spend(self, count: int = 1) -> bool:
        """Take one, and return False when none is left. Of a ``count`` of more, the rest is owed."""
        if self._left < 1:
            now = stopwatch()
            self._left = min(self._left + (now - self._since) * self._rate.a_second, self._rate.at_once)
            self._since = now
            if self._left < 1:
                return False
        self._left -= count
        return True
