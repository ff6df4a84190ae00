"""Events: in pages, or live as server-sent events that a reader can resume where it stopped."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import StreamingResponse

from emulator.events import Events
from emulator.listeners.control.live_answers import LiveAnswers, wants_live
from emulator.listeners.control.routing import handles
from rdss_sandbox.api import events as api
from rdss_sandbox.shapes.events import Event, EventPage

_encode = msgspec.json.Encoder().encode


class EventResources:
    """``/events``. With ``Accept: text/event-stream`` the answer goes on until the reader leaves."""

    def __init__(self, events: Events, live: LiveAnswers) -> None:
        self._events = events
        self._live = live

    @handles(api.Events.events)
    async def events(self, request: Request, *, after: int, limit: int) -> EventPage | StreamingResponse:
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


def flatten(event: Event) -> dict[str, Any]:
    """Flatten an event for the control API: its fields stand beside its id, time and kind."""
    return {**event.fields, "id": event.id, "time": event.time, "kind": event.kind}
