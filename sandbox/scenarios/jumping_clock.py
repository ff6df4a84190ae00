"""The clock of clients that work in real time: what they wait for comes at once."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable

from emulator.clock import Clock


class JumpingClock(Clock):
    """A clock that jumps by the length of each wait of the thread that made it; other threads really wait.

    ``on_move`` is called after each jump, so that everything due by then is done when the wait ends.
    """

    def __init__(self) -> None:
        super().__init__()
        self._machine = Clock()
        self._driver = threading.get_ident()
        self._barrier, self._barrier_lifts = math.inf, 0.0
        self.on_move: Callable[[], None] = lambda: None

    def hold_before(self, barrier: float, lifts: float) -> None:
        """Let no jump pass ``barrier`` on this clock before the machine's clock shows ``lifts``."""
        self._barrier, self._barrier_lifts = barrier, lifts

    def wait(self, seconds: float, cancelled: Callable[[], bool] = lambda: False) -> bool:
        if threading.get_ident() != self._driver:
            return super().wait(seconds, cancelled)
        if self.time() + seconds >= self._barrier:
            self._barrier = math.inf
            self._machine.wait(self._barrier_lifts - self._machine.time())
        self.advance(max(seconds, 0.0))
        self.on_move()
        return not cancelled()
