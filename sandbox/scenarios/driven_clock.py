"""The clock of a scenario: the playing thread moves time by waiting; other threads wait for that."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

from emulator.clock import Clock


class DrivenClock(Clock):
    """A clock that stands still until the thread that created it waits; the wait takes no real time.

    A coroutine that sleeps works for that thread, which waits for its answer, so it
    moves the clock too. ``on_move`` is called on the creating thread after each move,
    so that everything due by then is done when its wait ends. With a ``pace``, that
    many of its seconds pass in a real second, for people who watch.
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
