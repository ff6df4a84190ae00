"""Events: in pages, or live as server-sent events, which a reader can resume, or as news in short."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import ExitStack, aclosing
from typing import Any, Final, Protocol

import msgspec
from starlette.requests import Request
from starlette.responses import StreamingResponse

from emulator.events import Events
from emulator.listeners.control.endpoint_routing import handles
from emulator.listeners.control.live_answers import LiveAnswers, wants_live
from rdss_sandbox.api import events as api
from rdss_sandbox.shapes.events import Event, EventPage, News

NEWS_SECONDS: Final = 0.05
"""The time between two news for a reader."""
_encode = msgspec.json.Encoder().encode


class ArrivalSource(Protocol):
    """Where records arrive."""

    def on_records(self, callback: Callable[[str, str], None], /) -> Callable[[], None]: ...


class EventResources:
    """``/events``. With ``Accept: text/event-stream`` the answer goes on until the reader leaves."""

    def __init__(self, events: Events, live: LiveAnswers, arrivals: Sequence[ArrivalSource] = ()) -> None:
        self._events = events
        self._live = live
        self._arrivals = arrivals

    @handles(api.Events.events)
    async def events(
        self, request: Request, *, after: int, limit: int, news: bool
    ) -> EventPage | StreamingResponse:
        if wants_live(request) and news:
            return self._live.answer(self._tell_news(), held=1)
        if wants_live(request):
            resumed = request.headers.get("last-event-id", "")
            return self._live.answer(self._follow(int(resumed) if resumed.isdecimal() else after))
        found = self._events.since(after, limit)
        return EventPage(tuple(flatten(event) for event in found), self._events.last)

    async def _follow(self, after: int) -> AsyncGenerator[bytes, None]:
        # A cursor beyond the last event is from an earlier data directory, so the reader gets all events.
        cursor = after if after <= self._events.last else 0
        async with aclosing(self._events.follow(cursor)) as following:
            async for event in following:
                yield b"id: %d\ndata: %b\n\n" % (event.id, _encode(flatten(event)))

    async def _tell_news(self) -> AsyncGenerator[bytes, None]:
        """News, as server-sent events. Whatever happens while the reader is slow is in its next one."""
        unread = _UnreadNews(asyncio.get_running_loop())
        with ExitStack() as stack:
            stack.enter_context(self._events.subscribed(unread.note_event))
            for each in self._arrivals:
                stack.callback(each.on_records(unread.note_records))
            news = News(first=True)
            while True:
                yield b"data: %b\n\n" % _encode(news)
                await asyncio.sleep(NEWS_SECONDS)
                news = await unread.take()


class _UnreadNews:
    """What happened since a reader was told. It is noted on any thread, at each batch of records."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._some = asyncio.Event()
        self._lock = threading.Lock()
        self._kinds: set[str] = set()
        self._streams: set[str] = set()

    def note_event(self, event: Event) -> None:
        self._note(self._kinds, event.kind)

    def note_records(self, stream: str, _shard: str) -> None:
        self._note(self._streams, stream)

    def _note(self, among: set[str], name: str) -> None:
        with self._lock:
            asleep = not self._kinds and not self._streams
            among.add(name)
        if asleep:
            self._loop.call_soon_threadsafe(self._some.set)

    async def take(self) -> News:
        """Wait until there are some, and take them."""
        await self._some.wait()
        self._some.clear()
        with self._lock:
            news = News(kinds=tuple(sorted(self._kinds)), streams=tuple(sorted(self._streams)))
            self._kinds.clear()
            self._streams.clear()
        return news


def flatten(event: Event) -> dict[str, Any]:
    """Flatten an event for the control API: its fields stand beside its id, time and kind."""
    return {**event.fields, "id": event.id, "time": event.time, "kind": event.kind}
