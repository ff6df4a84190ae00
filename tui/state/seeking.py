"""Searches in a message list: the row of a goal and the next match of a filter."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol

from rdss_sandbox.shapes.contract import MessageVerdict
from rdss_sandbox.shapes.messages import MessageDetail, MessagePage, MessageRow, Original
from tui.state import goto
from tui.state.paging import Page, Source, first_index
from tui.state.query import both


class NothingThereError(ValueError):
    """There is no such row; the message says which."""


class MessageLog(Protocol):
    """Messages in order; ``AsyncClient`` has those of the streams, its ``audit`` has the audit log."""

    async def messages(
        self, *, offset: int | None = None, after: int | None = None, limit: int = 100, matching: str = ""
    ) -> MessagePage: ...
    async def message(self, row_id: int) -> MessageDetail: ...
    async def original(self, row_id: int) -> Original: ...
    async def verdict(self, row_id: int) -> MessageVerdict: ...
    def export(self, matching: str = "") -> AsyncIterator[bytes]: ...


def message_source(log: MessageLog, matching: str) -> Source[MessageRow]:
    """The messages that the filter ``matching`` selects, as a source of pages, oldest first."""

    async def read(offset: int, limit: int) -> Page[MessageRow]:
        page = await log.messages(offset=offset, limit=limit, matching=matching)
        begins = offset if offset >= 0 else page.total - len(page.messages)
        return Page(begins, page.messages, page.total, page.indexed)

    return read


async def find_index(log: MessageLog, matching: str, goal: goto.Goal) -> int:
    """Find the index of the goal in the list of matching messages. Raises NothingThereError."""
    source = message_source(log, matching)
    match goal:
        case goto.GoToEnd(which):
            total = (await source(0, 1)).total
            return total - 1 if which == "last" and total else 0
        case goto.GoToMessage(id=wanted):
            return await _index_of(source, wanted)
        case goto.GoToMoment(time):
            index = await first_index(source, lambda row: row.time >= time)
            if index == (await source(0, 1)).total:
                raise NothingThereError("no message so late yet")
            return index
        case goto.SequenceNumber(number, after):
            term = f"number{'>' if after else '>='}{number}"
            page = await log.messages(limit=1, matching=both(matching, term))
            if not page.messages:
                way = "after" if after else "from"
                raise NothingThereError(f"no record with a sequence number {way} {number}")
            return await _index_of(source, page.messages[0].id)


async def next_match(log: MessageLog, scope: str, text: str, here: int, *, forward: bool) -> int:
    """Find the nearest message after (or before) the id ``here`` that matches ``text``.

    Returns its index in the list of ``scope``. Raises NothingThereError.
    """
    matches = message_source(log, both(scope, text))
    index = await first_index(matches, lambda row: row.id > here if forward else row.id >= here)
    page = await matches(index if forward else index - 1, 1) if forward or index else None
    if page is None or not page.rows:
        raise NothingThereError(f"no {'further' if forward else 'earlier'} match of {text}")
    return await _index_of(message_source(log, scope), page.rows[0].id)


async def _index_of(source: Source[MessageRow], message_id: int) -> int:
    # Without a filter the ids are dense, so the id gives the index and no search is needed.
    page = await source(max(0, message_id - 1), 1)
    if page.rows and page.rows[0].id == message_id:
        return message_id - 1
    return await first_index(source, lambda row: row.id >= message_id)
