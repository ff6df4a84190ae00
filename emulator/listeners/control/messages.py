"""Messages: filtered pages, counts and exports, and single messages."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from http import HTTPStatus
from typing import Any

import msgspec
from starlette.responses import StreamingResponse

from emulator.events import Events
from emulator.listeners.control.events import flatten
from emulator.listeners.control.routing import ApiError, handles
from emulator.message_index.index import MessageIndex
from rdss_sandbox.api.messages import Messages, StoredMessages
from rdss_sandbox.ndjson import as_line
from rdss_sandbox.shapes.events import Event
from rdss_sandbox.shapes.messages import (
    Counts,
    MessageDetail,
    MessagePage,
    MessageRow,
    StoredMessage,
)

_CATCH_UP_SECONDS = 0.1
_EXPORT_CATCH_UP_SECONDS = 10.0
_EXPORTED_AT_ONCE = 200
_EVENTS_SEARCHED = 10_000


class MessageResources:
    """The messages of an index. A request first indexes new ones for 0.1 s at most, an export for 10 s."""

    def __init__(self, index: Callable[[], MessageIndex], events: Events) -> None:
        self._find_index = index
        self._events = events

    @property
    def _index(self) -> MessageIndex:
        return self._find_index()

    @handles(Messages.messages)
    def messages(self, *, offset: int | None, after: int | None, limit: int, matching: str) -> MessagePage:
        indexed = self._index.catch_up(_CATCH_UP_SECONDS)
        page = self._index.page(matching, offset=offset, after=after, limit=limit)
        return page if indexed else msgspec.structs.replace(page, indexed=False)

    @handles(Messages.counts)
    def counts(self, by: str, *, matching: str) -> Counts:
        self._index.catch_up(_CATCH_UP_SECONDS)
        return Counts(self._index.counts(by, matching))

    @handles(Messages.export)
    def export(self, matching: str) -> StreamingResponse:
        index = self._index
        index.check_filter(matching)  # a bad filter must be refused before the answer begins
        index.catch_up(_EXPORT_CATCH_UP_SECONDS)
        lines = (f"{as_line(data)}\n".encode() for _, data in _read_all(index, matching))
        return StreamingResponse(lines, media_type=Messages.export.media_type)

    @handles(StoredMessages.stored)
    def stored(self, matching: str) -> StreamingResponse:
        index = self._index
        index.check_filter(matching)
        index.catch_up(_EXPORT_CATCH_UP_SECONDS)
        lines = (
            msgspec.json.encode(StoredMessage(**msgspec.structs.asdict(row), data=data)) + b"\n"
            for row, data in _read_all(index, matching)
        )
        return StreamingResponse(lines, media_type=StoredMessages.stored.media_type)

    @handles(Messages.message)
    def message(self, row_id: int) -> MessageDetail:
        if row_id > self._index.last:
            self._index.catch_up(_CATCH_UP_SECONDS)
        row = self._index.row(row_id)
        if row is None:
            raise ApiError(HTTPStatus.NOT_FOUND, "no_such_message", f"no message has the id {row_id}")
        data = self._index.data(row)
        return MessageDetail(
            **msgspec.structs.asdict(row), **_render_content(data), events=self._find_events(row)
        )

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


def _read_all(index: MessageIndex, matching: str) -> Iterator[tuple[MessageRow, bytes]]:
    """Yield the messages that the streams still hold. What arrives meanwhile is not among them."""
    after, last = 0, index.last
    while rows := index.page(matching, after=after, limit=_EXPORTED_AT_ONCE).messages:
        for row in rows:
            if row.id <= last and (data := index.data(row)) is not None:
                yield row, data
        if (after := rows[-1].id) >= last:
            return
