"""An event loop that runs beside a test that is not asynchronous, and the servers on it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import closing, contextmanager
from typing import Any

from emulator.http.server import Server, serve


class LoopThread:
    """The thread of a loop. What ``serve`` began is closed with it, the last one first."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()
        self._servers: list[Server] = []

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(30)

    def serve(self, app: Any, port: int = 0) -> Server:
        self._servers.append(self.run(serve(app, "127.0.0.1", port)))
        return self._servers[-1]

    def close_servers(self) -> None:
        while self._servers:
            self.run(self._servers.pop().close(0.2))

    def close(self) -> None:
        self.close_servers()
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()


@contextmanager
def loop_on_a_thread() -> Iterator[Callable[[Any], Any]]:
    """Runs coroutines for a test that is not asynchronous."""
    with closing(LoopThread()) as thread:
        yield thread.run
