"""Messages: filtered pages, counts, and single messages."""

from __future__ import annotations

import base64
from collections.abc import Callable
from http import HTTPStatus
from typing import Annotated, Any

import msgspec

from emulator.events import Events
from emulator.listeners.control.events import flatten
from emulator.listeners.control.routing import ApiError, Asked, Nothing, Route
from emulator.message_index.index import MessageIndex
from rdss_sandbox.shapes.events import Event
from rdss_sandbox.shapes.messages import CountedField, Counts, MessageDetail, MessagePage, MessageRow

_CATCH_UP_SECONDS = 0.1
_EVENTS_SEARCHED = 10_000
_MOST_DIGITS = 19


class MessageQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A page: from the ``offset``-th match (from the end when negative) or ``after`` an id."""

    offset: int | None = None
    after: Annotated[int, msgspec.Meta(ge=0)] | None = None
    limit: Annotated[int, msgspec.Meta(ge=0, le=1000)] = 100
    filter: str = ""


class CountQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Counts the messages that match ``filter``, by a field."""

    by: CountedField = "code"
    filter: str = ""


class MessageResources:
    """The messages of an index, at the path ``at``. Each request first indexes new ones, for 0.1 s at most.

    ``of`` goes into the routes' summaries.
    """

    def __init__(
        self, index: Callable[[], MessageIndex], events: Events, at: str = "/messages", of: str = ""
    ) -> None:
        self._find_index = index
        self._events = events
        self._at = at
        self._of = of

    def routes(self) -> list[Route]:
        at, of = self._at, self._of
        page, whole = f"The messages{of} that match a filter", f"A message{of} whole"
        counts = f"How many messages{of} have which value"
        return [
            Route("GET", at, page, self._page, MessagePage, MessageQuery),
            Route("GET", f"{at}/counts", counts, self._counts, Counts, CountQuery),
            Route("GET", at + "/{id}", whole, self._detail, MessageDetail),
        ]

    @property
    def _index(self) -> MessageIndex:
        return self._find_index()

    def _page(self, asked: Asked[MessageQuery, None]) -> MessagePage:
        self._index.catch_up(_CATCH_UP_SECONDS)
        query = asked.query
        return self._index.page(query.filter, offset=query.offset, after=query.after, limit=query.limit)

    def _counts(self, asked: Asked[CountQuery, None]) -> Counts:
        self._index.catch_up(_CATCH_UP_SECONDS)
        return Counts(self._index.counts(asked.query.by, asked.query.filter))

    def _detail(self, asked: Asked[Nothing, None]) -> MessageDetail:
        given = asked.path["id"]
        row = self._row(int(given)) if given.isdecimal() and len(given) < _MOST_DIGITS else None
        if row is None:
            raise ApiError(HTTPStatus.NOT_FOUND, "no_such_message", f"no message has the id {given}")
        data = self._index.data(row)
        return MessageDetail(
            **msgspec.structs.asdict(row), **_render_content(data), events=self._find_events(row)
        )

    def _row(self, row_id: int) -> MessageRow | None:
        if row_id > self._index.last:
            self._index.catch_up(_CATCH_UP_SECONDS)
        return self._index.row(row_id)

    def _find_events(self, row: MessageRow) -> tuple[dict[str, Any], ...]:
        """The newest events that mention the message."""
        if row.message_id is None:
            return ()
        newest = self._events.since(max(0, self._events.last - _EVENTS_SEARCHED), _EVENTS_SEARCHED)
        return tuple(flatten(event) for event in newest if _mentions(event, row.message_id))


def _mentions(event: Event, message_id: str) -> bool:
    return event.fields.get("message_id") == message_id or message_id in event.fields.get("message_ids", ())


def _render_content(data: bytes | None) -> dict[str, Any]:
    if data is None:
        return {}
    try:
        raw: dict[str, Any] = {"raw": data.decode()}
    except UnicodeDecodeError:
        return {"raw_base64": base64.b64encode(data).decode()}
    try:
        message = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError):
        return raw
    if isinstance(message, dict):
        header = message.get("messageHeader")
        raw |= {"header": header if isinstance(header, dict) else None, "body": message.get("messageBody")}
    return raw
