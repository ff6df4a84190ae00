"""The event loop of functions, on a thread of its own, so that what they do delays no port."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from typing import Any, ParamSpec, TypeVar

_R = TypeVar("_R")
_P = ParamSpec("_P")


class EventLoopThread:
    """A loop that runs from the first call until ``close``."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = threading.Lock()

    @property
    def running(self) -> bool:
        return self._loop is not None

    def begin(self, work: Coroutine[Any, Any, _R]) -> Future[_R]:
        """Run a coroutine there."""
        return asyncio.run_coroutine_threadsafe(work, self._started())

    def run(self, work: Coroutine[Any, Any, _R]) -> _R:
        """Run a coroutine there, and wait for it."""
        return self.begin(work).result()

    def moved(self, work: Callable[_P, Coroutine[Any, Any, _R]]) -> Callable[_P, Awaitable[_R]]:
        """The same coroutine function for callers on another loop."""

        async def there(*given: _P.args, **named: _P.kwargs) -> _R:
            # Who leaves does not end what was begun: an invocation goes on.
            return await asyncio.shield(asyncio.wrap_future(self.begin(work(*given, **named))))

        return there

    def close(self) -> None:
        """End what is still under way there, and the loop."""
        with self._lock:
            loop, self._loop = self._loop, None
        if loop is not None:
            asyncio.run_coroutine_threadsafe(_cancel_all(), loop).result()
            loop.call_soon_threadsafe(loop.stop)
            self._thread.join()
            loop.close()

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._loop.run_forever, name=self._name, daemon=True)
                self._thread.start()
            return self._loop


async def _cancel_all() -> None:
    """Cancel the other tasks of the loop, and wait for what they do at their end."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
