"""The task that runs scheduled actions of topics when the clock reaches them."""

from __future__ import annotations

import asyncio
from typing import Any

from emulator.clock import Clock
from emulator.topics.engine.topics_engine import Topics


async def run_schedule(topics: Topics, clock: Clock) -> None:
    """Run the scheduled actions at their times on ``clock``, until cancelled."""
    loop = asyncio.get_running_loop()
    sooner = asyncio.Event()

    def hurry() -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(sooner.set)

    topics.on_sooner(hurry)
    while True:
        sooner.clear()
        wait = topics.tend()
        waits: set[asyncio.Task[Any]] = {asyncio.create_task(sooner.wait())}
        if wait is not None:
            waits.add(asyncio.create_task(_until(clock, clock.elapsed() + wait)))
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in waits:
                one.cancel()


async def _until(clock: Clock, when: float) -> None:
    """Wait until ``clock.elapsed()`` is ``when``, also if the clock is advanced before the wait begins."""
    while (left := when - clock.elapsed()) > 0:
        await clock.sleep(left)
