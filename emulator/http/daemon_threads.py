"""Blocking work on daemon threads, which end with the process: a long poll must not hold up a stop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

_Result = TypeVar("_Result")


class DaemonThreads:
    """Runs up to ``most`` functions at once, each on a daemon thread of its own."""

    def __init__(self, name: str, most: int) -> None:
        self._name = name
        self._room = asyncio.Semaphore(most)

    async def run(self, work: Callable[[], _Result]) -> _Result:
        """Run ``work`` and return what it returns, or raise what it raises.

        When the caller is cancelled, the work goes on and its outcome is dropped.
        """
        loop = asyncio.get_running_loop()
        done: asyncio.Future[_Result] = loop.create_future()

        def settle(outcome: _Result | Exception) -> None:
            if done.cancelled():
                return
            if isinstance(outcome, Exception):
                done.set_exception(outcome)
            else:
                done.set_result(outcome)

        def run() -> None:
            outcome: _Result | Exception
            try:
                outcome = work()
            except Exception as error:  # noqa: BLE001 -- raised again where it is awaited
                outcome = error
            # The loop may have ended while the work went on.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(settle, outcome)

        async with self._room:
            threading.Thread(target=run, name=self._name, daemon=True).start()
            return await done
