"""Two ways to wait for the clock: on an event loop, or blocking a thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

from emulator.clock import Clock

Start: TypeAlias = Callable[[Coroutine[Any, Any, None]], "asyncio.Future[None]"]


class OnThread:
    """Blocks the caller's thread; see ``fault_point.run_blocking``. The methods are those of ``OnLoop``."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    async def sleep(self, seconds: float, cancelled: Callable[[], bool]) -> object:
        return self._clock.wait(seconds, cancelled)

    async def run(self, action: Callable[[], object]) -> object:
        return action()


class OnLoop:
    """Lets the event loop go on. ``start`` starts what is done later, by default as a task of the loop."""

    def __init__(self, clock: Clock, start: Start = asyncio.ensure_future) -> None:
        self._clock = clock
        self._start = start

    async def sleep(self, seconds: float, cancelled: Callable[[], bool]) -> None:
        """Wait for ``seconds`` of the clock, or until ``cancelled`` (see ``Clock.nudge``)."""
        await self._clock.sleep(seconds, cancelled)

    async def run(self, action: Callable[[], object]) -> object:
        """Do something that may block."""
        return await asyncio.to_thread(action)

    def start(self, work: Coroutine[Any, Any, None]) -> Callable[[], object]:
        """Start ``work`` beside the caller. Returns what cancels it."""
        return self._start(work).cancel

    def later(
        self, seconds: float, action: Callable[[], None], at_once: Callable[[], bool]
    ) -> Callable[[], object]:
        """Do ``action`` after ``seconds`` of the clock, or once ``at_once()``. Returns what cancels it."""

        async def act() -> None:
            await self._clock.sleep(seconds, at_once)
            action()

        return self.start(act())


Waits: TypeAlias = OnThread | OnLoop
