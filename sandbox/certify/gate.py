"""The gate: it holds up a client's calls, so that what is done meanwhile is done before all of them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

PUTS: Final = "puts"
_MOST_SECONDS: Final = 5.0


class _Held(NamedTuple):
    """A call that waits; ``opened`` belongs to ``loop``."""

    place: str
    loop: asyncio.AbstractEventLoop
    opened: asyncio.Event


class Gate:
    """Holds up the GetRecords calls of the shards that are closed, and the puts of any stream (``PUTS``).

    No call is held up for longer than five seconds. ``on_arrival`` is called when a call has to wait.
    """

    def __init__(self, on_arrival: Callable[[], object]) -> None:
        self._on_arrival = on_arrival
        self._lock = threading.Lock()
        self._closed: frozenset[str] = frozenset()
        self._held: list[_Held] = []
        self._passing: set[asyncio.Task[None]] = set()

    def close(self, places: Iterable[str]) -> None:
        """Hold up the calls that come from now on."""
        self._closed = frozenset(places)

    def open(self) -> None:
        """Let every call pass."""
        with self._lock:
            self._closed = frozenset()
            for each in self._held:
                each.loop.call_soon_threadsafe(each.opened.set)

    def holds(self, places: Iterable[str]) -> bool:
        """Whether a call waits at one of these places."""
        with self._lock:
            return not {each.place for each in self._held}.isdisjoint(places)

    def is_closed(self, place: str) -> bool:
        """Whether a call of this place would have to wait."""
        return place in self._closed

    def when_open(self, place: str, resume: Callable[[], None]) -> None:
        """Call ``resume`` on this event loop as soon as the place is open."""

        async def wait() -> None:
            await self.pass_through(place)
            resume()

        task = asyncio.get_running_loop().create_task(wait())
        self._passing.add(task)
        task.add_done_callback(self._passing.discard)

    async def pass_through(self, place: str) -> None:
        """Return when the place is open."""
        held = _Held(place, asyncio.get_running_loop(), asyncio.Event())
        with self._lock:
            if place not in self._closed:
                return
            self._held.append(held)
        self._on_arrival()
        try:
            async with asyncio.timeout(_MOST_SECONDS):
                await held.opened.wait()
        except TimeoutError:
            self.open()
        finally:
            with self._lock:
                self._held.remove(held)
