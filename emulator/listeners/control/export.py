"""Exports every message that matches a filter, as NDJSON of any length."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec
from starlette.responses import StreamingResponse

from emulator.listeners.control.routing import Asked, Route
from emulator.message_index.index import MessageIndex
from emulator.message_index.sql_filter import compile_filter
from rdss_sandbox.ndjson import as_line

_NDJSON = "application/x-ndjson"
_ROWS_AT_ONCE = 200
_CATCH_UP_SECONDS = 10.0


class ExportQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The messages to export."""

    filter: str = ""


class ExportResources:
    """``export`` below the path ``at``: an index's messages, one a line, oldest first.

    Messages that their stream no longer holds are left out. ``of`` goes into the route's summary.
    """

    def __init__(self, index: Callable[[], MessageIndex], at: str = "/messages", of: str = "") -> None:
        self._index = index
        self._at = at
        self._of = of

    def routes(self) -> list[Route]:
        summary = f"The messages{self._of} that match a filter as NDJSON, each as it was sent"
        return [Route("GET", f"{self._at}/export", summary, self._export, _NDJSON, ExportQuery)]

    def _export(self, asked: Asked[ExportQuery, None]) -> StreamingResponse:
        compile_filter(asked.query.filter)  # a bad filter must be refused before the answer begins
        index = self._index()
        index.catch_up(_CATCH_UP_SECONDS)
        return StreamingResponse(_render_lines(index, asked.query.filter), media_type=_NDJSON)


def _render_lines(index: MessageIndex, matching: str) -> Iterator[bytes]:
    # Messages that arrive during the export are not part of it.
    after, last = 0, index.last
    while rows := index.page(matching, after=after, limit=_ROWS_AT_ONCE).messages:
        held = (index.data(row) for row in rows if row.id <= last)
        yield "".join(f"{as_line(data)}\n" for data in held if data is not None).encode()
        if (after := rows[-1].id) >= last:
            return
