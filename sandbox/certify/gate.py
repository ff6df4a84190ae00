"""The gate: it holds up a client's calls, so that what is done meanwhile is done before all of them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Container, Iterable
from contextlib import aclosing
from typing import Final, NamedTuple

from emulator.kinesis import Scope
from emulator.listeners.aws.interception import EventStream, Proceed, Request, Response

PUTS: Final = "puts"
_READS: Final = "GetRecords"
_SUBSCRIBES: Final = "SubscribeToShard"
_GATED: Final = frozenset({_READS, _SUBSCRIBES, "PutRecord", "PutRecords"})
_MOST_SECONDS: Final = 5.0


class _EveryStream:
    """Contains every stream."""

    def __contains__(self, _stream: object) -> bool:
        return True


_EVERY_STREAM: Final = _EveryStream()


class _Held(NamedTuple):
    """A call that waits; ``opened`` belongs to ``loop``."""

    place: str
    loop: asyncio.AbstractEventLoop
    opened: asyncio.Event


class Gate:
    """Holds up what is read of the shards that are closed, pushed or asked for, and all puts (``PUTS``).

    It also cuts the answers of some shards short. It is the outermost interceptor of the AWS port. No call is
    held up for longer than five seconds. ``on_arrival`` is called when a call has to wait, and ``find_shard``
    tells the shard of an iterator.
    """

    def __init__(
        self, on_arrival: Callable[[], object], find_shard: Callable[[str], str] = lambda _iterator: ""
    ) -> None:
        self._on_arrival = on_arrival
        self._find_shard = find_shard
        self._lock = threading.Lock()
        self._closed: frozenset[str] = frozenset()
        self._short: dict[str, int] = {}
        self._held: list[_Held] = []
        self._passing: set[asyncio.Task[None]] = set()

    def watches(self, operation: str) -> Container[str] | None:
        """Every stream: so calls take the full path, on which the recorder sees their records."""
        return _EVERY_STREAM if operation in _GATED else None

    def wants(self, operation: str, _stream: str | None, _iterator: str | None = None) -> bool:
        return operation in _GATED

    async def __call__(self, operation: str, request: Request, _scope: Scope, proceed: Proceed) -> Response:
        if operation == _SUBSCRIBES:
            answer = await proceed(request)
            return {**answer, "EventStream": self._hold(request["ShardId"], answer["EventStream"])}
        place = self._find_shard(request["ShardIterator"]) if operation == _READS else PUTS
        await self.pass_through(place)
        if (most := self._short.get(place)) is not None:
            request = {**request, "Limit": min(most, request.get("Limit") or most)}
        return await proceed(request)

    async def _hold(self, place: str, events: EventStream) -> EventStream:
        async with aclosing(events):
            async for each in events:
                await self.pass_through(place)
                yield each

    def close(self, places: Iterable[str]) -> None:
        """Hold up the calls that come from now on."""
        self._closed = frozenset(places)

    def shorten(self, places: Iterable[str], records: int) -> None:
        """Let each read of these places have so many records at most, and no others be cut short."""
        self._short = dict.fromkeys(places, records)

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
