"""Messages: filtered pages, counts and exports, and single messages."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Container, Iterator
from http import HTTPStatus
from itertools import tee
from typing import Any
from urllib.parse import urlsplit

import msgspec
from starlette.responses import StreamingResponse

from emulator.events import Events
from emulator.listeners.control.endpoint_routing import ApiError, handles
from emulator.listeners.control.events import flatten
from emulator.listeners.control.message_content import render_content, render_verdict
from emulator.message_index.index import MessageIndex
from rdss_sandbox.api.messages import Messages, StoredMessages
from rdss_sandbox.files.ndjson import as_line
from rdss_sandbox.questions.message_filter import FilterError
from rdss_sandbox.shapes.contract import MessageVerdict
from rdss_sandbox.shapes.events import Event
from rdss_sandbox.shapes.messages import (
    Counts,
    MessageDetail,
    MessagePage,
    MessageRow,
    Original,
    StoredMessage,
)
from schemas.contract import Contract, Undecorated

_CATCH_UP_SECONDS = 0.1
_EXPORT_CATCH_UP_SECONDS = 10.0
_EXPORTED_AT_ONCE = 200
_EVENTS_SEARCHED = 10_000
_ORIGINS_SEARCHED = 100


class MessageResources:
    """The messages of an index. A request first indexes new ones for 0.1 s at most, an export for 10 s.

    ``read_object`` reads the object of a bucket and a key, or raises ApiError. ``find_origin`` finds
    the stream that a message with this id came from.
    """

    def __init__(
        self,
        index: Callable[[], MessageIndex],
        events: Events,
        contract: Contract,
        read_object: Callable[[str, str], bytes],
        find_origin: Callable[[str | None], str | None],
    ) -> None:
        self._find_index = index
        self._events = events
        self._contract = contract
        self._read_object = read_object
        self._find_origin = find_origin

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
        row = self.find_row(row_id)
        content = render_content(self._index.data(row), self._contract)
        return MessageDetail(**msgspec.structs.asdict(row), **content, events=self._find_events(row))

    @handles(Messages.original)
    def original(self, row_id: int) -> Original:
        return self.read_original(self.find_row(row_id))

    def read_original(self, row: MessageRow) -> Original:
        """The message of a row as its sender sent it. Raises ``ApiError`` for one that is gone."""
        found = self._undecorate(row)
        return Original(self._read_whole(found), found.redriven, self._find_origin(row.message_id))

    @handles(Messages.verdict)
    def verdict(self, row_id: int) -> MessageVerdict:
        row = self.find_row(row_id)
        found = self._undecorate(row)
        judged = self._contract.judge(self._read_whole(found), now=row.time)
        return MessageVerdict(**render_verdict(judged), reason=found.reason)

    def find_row(self, row_id: int) -> MessageRow:
        """The row of a message. Raises ``ApiError`` where there is none."""
        if row_id > self._index.last:
            self._index.catch_up(_CATCH_UP_SECONDS)
        row = self._index.row(row_id)
        if row is None:
            raise ApiError(HTTPStatus.NOT_FOUND, "no_such_message", f"no message has the id {row_id}")
        return row

    def _undecorate(self, row: MessageRow) -> Undecorated:
        data = self._index.data(row)
        if data is None:
            why = f"message #{row.id} is past its stream's retention: only its row is left"
            raise ApiError(HTTPStatus.GONE, "message_gone", why)
        return self._contract.undecorate(data)

    def _read_whole(self, found: Undecorated) -> bytes:
        """The message, from its bucket where it did not fit into its queue."""
        if found.address is None:
            return found.data
        place = urlsplit(found.address)
        if place.scheme != "s3":
            why = f"the whole message is at {found.address}, which is in no bucket"
            raise ApiError(HTTPStatus.GONE, "message_gone", why)
        whole = self._read_object(place.netloc, place.path.removeprefix("/"))
        if found.sha256 and hashlib.sha256(whole).hexdigest() != found.sha256:
            why = f"{found.address} is not the message that was refused: its SHA-256 differs"
            raise ApiError(HTTPStatus.CONFLICT, "other_object", why)
        return whole

    def _find_events(self, row: MessageRow) -> tuple[dict[str, Any], ...]:
        """The newest events that mention the message."""
        if row.message_id is None:
            return ()
        newest = self._events.since(max(0, self._events.last - _EVENTS_SEARCHED), _EVENTS_SEARCHED)
        return tuple(flatten(event) for event in newest if _mentions(event, row.message_id))


def find_origin(index: MessageIndex, apart: Container[str], message_id: str | None) -> str | None:
    """The first stream of an index that had a message, outside of those ``apart``; None where none has."""
    if message_id is None:
        return None
    try:
        rows = index.page(f'id:"{message_id}"', offset=None, after=None, limit=_ORIGINS_SEARCHED).messages
    except FilterError:  # an id with a quotation mark in it
        return None
    return next((row.stream for row in rows if row.stream not in apart), None)


def _mentions(event: Event, message_id: str) -> bool:
    return event.fields.get("message_id") == message_id or message_id in event.fields.get("message_ids", ())


def _read_all(index: MessageIndex, matching: str) -> Iterator[tuple[MessageRow, bytes]]:
    """Yield the messages that the streams still hold. What arrives meanwhile is not among them."""
    rows, read = tee(_list_rows(index, matching))
    for row, data in zip(rows, index.data_of_each(read), strict=True):
        if data is not None:
            yield row, data


def _list_rows(index: MessageIndex, matching: str) -> Iterator[MessageRow]:
    after, last = 0, index.last
    while rows := index.page(matching, after=after, limit=_EXPORTED_AT_ONCE).messages:
        yield from (row for row in rows if row.id <= last)
        if (after := rows[-1].id) >= last:
            return
