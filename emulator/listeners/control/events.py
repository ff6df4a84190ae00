"""Events: page by page, or live as server-sent events that a reader can take up again where it stopped."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Annotated, Any

import msgspec
from starlette.responses import StreamingResponse

from emulator.events import Event, Events
from emulator.listeners.control.routing import Asked, Route
from emulator.resources import EventPage

_SERVER_SENT = "text/event-stream"
_SILENCE_SECONDS = 10.0
_encode = msgspec.json.Encoder().encode


class EventQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Events with an id above ``after``."""

    after: Annotated[int, msgspec.Meta(ge=0)] = 0
    limit: Annotated[int, msgspec.Meta(ge=0, le=10_000)] = 1000


class EventResources:
    """``/events``. With ``Accept: text/event-stream`` it goes on until the reader leaves or ``close``."""

    def __init__(self, events: Events) -> None:
        self._events = events
        self._readers: set[asyncio.Task[None]] = set()

    def routes(self) -> list[Route]:
        summary = "What happened, and with Accept: text/event-stream what happens"
        return [Route("GET", "/events", summary, self._answer, EventPage, EventQuery)]

    def close(self) -> None:
        """End every live stream."""
        for reader in self._readers:
            reader.cancel()

    async def _answer(self, asked: Asked[EventQuery, None]) -> EventPage | StreamingResponse:
        if _SERVER_SENT in asked.request.headers.get("accept", ""):
            resumed = asked.request.headers.get("last-event-id", "")
            after = int(resumed) if resumed.isdecimal() else asked.query.after
            return StreamingResponse(
                self._live(after), media_type=_SERVER_SENT, headers={"cache-control": "no-store"}
            )
        found = self._events.since(asked.query.after, asked.query.limit)
        return EventPage(tuple(flat(event) for event in found), self._events.last)

    async def _live(self, after: int) -> AsyncIterator[bytes]:
        # A cursor beyond the last event is from before a fresh start, which a reader gets from its beginning.
        cursor = after if after <= self._events.last else 0
        queue: asyncio.Queue[bytes] = asyncio.Queue(maxsize=1000)
        reader = asyncio.create_task(self._read(cursor, queue))
        self._readers.add(reader)
        try:
            yield b": connected\n\n"
            while not (reader.done() and queue.empty()):
                yield await _said(queue)
        finally:
            reader.cancel()
            self._readers.discard(reader)

    async def _read(self, cursor: int, queue: asyncio.Queue[bytes]) -> None:
        try:
            async with aclosing(self._events.follow(cursor)) as following:
                async for event in following:
                    await queue.put(b"id: %d\ndata: %b\n\n" % (event.id, _encode(flat(event))))
        finally:
            if queue.empty():
                queue.put_nowait(b": closing\n\n")


async def _said(queue: asyncio.Queue[bytes]) -> bytes:
    """What to send next; after a while of nothing a comment, so that a lost reader is noticed."""
    try:
        async with asyncio.timeout(_SILENCE_SECONDS):
            return await queue.get()
    except TimeoutError:
        return b": nothing new\n\n"


def flat(event: Event) -> dict[str, Any]:
    """The event as the control API shows it: its fields beside its id, time and kind."""
    return {**event.fields, "id": event.id, "time": event.time, "kind": event.kind}
