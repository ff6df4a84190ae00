"""Events of the sandbox, single and in pages."""

from __future__ import annotations

from typing import Any

import msgspec


class EventPage(msgspec.Struct, frozen=True):
    """Events, oldest first, each ``{"id", "time", "kind", ...}``; ``last`` is the newest id of all."""

    events: tuple[dict[str, Any], ...]
    last: int


class Event(msgspec.Struct, frozen=True):
    """One event. ``id`` counts from 1 without gaps; ``time`` is in seconds since the epoch."""

    id: int
    time: float
    kind: str
    fields: dict[str, Any]


class News(msgspec.Struct, frozen=True, kw_only=True):
    """That something happened since the news before: kinds of events, and streams that may have new records.

    The ``first`` of a connection says that whatever the reader knew may be old.
    """

    kinds: tuple[str, ...] = ()
    streams: tuple[str, ...] = ()
    first: bool = False


def events_of(page: EventPage) -> list[Event]:
    return [event_of(flat) for flat in page.events]


def event_of(flat: dict[str, Any]) -> Event:
    """Convert the control API's flat form, where the fields stand beside id, time and kind."""
    rest = {name: value for name, value in flat.items() if name not in {"id", "time", "kind"}}
    return Event(flat["id"], flat["time"], flat["kind"], rest)
