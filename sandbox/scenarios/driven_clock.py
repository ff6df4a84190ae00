"""The clock of a scenario: whoever plays it moves time by waiting, and everybody else waits for that."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

from emulator.clock import Clock


class DrivenClock(Clock):
    """Stands still until the thread that made it waits, which by itself takes no real time.

    A coroutine that sleeps does so for that thread, which waits for its answer,
    and moves the clock too. ``on_move`` is called on the driver's thread after
    each move, so that what was to happen by then has happened when its wait ends.
    With a ``pace`` that many of its seconds go by in a real one, for people who watch.
    """

    def __init__(self, start: float, pace: float | None = None) -> None:
        super().__init__(frozen_at=start)
        self._machine = Clock()
        self._pace = pace
        self._driver = threading.get_ident()
        self.on_move: Callable[[], None] = lambda: None

    def wait(self, seconds: float, cancelled: Callable[[], bool] = lambda: False) -> bool:
        if threading.get_ident() != self._driver:
            return super().wait(seconds, cancelled)
        if self._pace:
            self._machine.wait(seconds / self._pace)
        self.advance(max(seconds, 0.0))
        self.on_move()
        return not cancelled()

    async def sleep(self, seconds: float, cancelled: Callable[[], bool] = lambda: False) -> None:
        if cancelled():
            return
        if self._pace:
            await self._machine.sleep(seconds / self._pace)
        self.advance(max(seconds, 0.0))
        await asyncio.sleep(0)
