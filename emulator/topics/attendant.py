"""Who looks after topics while time passes: call it as a task beside the listeners."""

from __future__ import annotations

import asyncio

from emulator.clock import Clock
from emulator.topics.engine import Topics


async def attend(topics: Topics, clock: Clock) -> None:
    """Have everything that is due on ``clock`` done when it is due, until cancelled."""
    loop = asyncio.get_running_loop()
    sooner = asyncio.Event()
    topics.on_sooner(lambda: loop.call_soon_threadsafe(sooner.set))
    while True:
        sooner.clear()
        wait = topics.tend()
        waits = {asyncio.ensure_future(sooner.wait())}
        if wait is not None:
            waits.add(asyncio.ensure_future(clock.sleep(wait)))
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in waits:
                one.cancel()
