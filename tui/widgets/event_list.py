"""The list of the sandbox's events."""

from __future__ import annotations

from rdss_sandbox.shapes.events import Event, News
from tui.session import session_of
from tui.state.paging import Page
from tui.text import figures
from tui.text.columns import Column
from tui.text.narration import sentence
from tui.widgets.row_list import RowList

_TONES = {"fault.injected": "warning", "stream.resharded": "accent", "request.failed": "error"}

EVENT_COLUMNS: tuple[Column[Event], ...] = (
    Column("time (UTC)", 12, lambda row: figures.clock_time(row.time), lambda _: "dim", worth=8),
    Column("happened", 20, sentence, lambda row: _TONES.get(row.kind, ""), worth=9, stretch=True),
)


def _happened(news: News) -> bool:
    return news.first or bool(news.kinds)


class EventList(RowList[Event]):
    """Shows the events live; it follows the newest until the user scrolls away."""

    def __init__(self) -> None:
        super().__init__(EVENT_COLUMNS, live=_happened, empty="nothing happened yet", id="happened")

    def on_mount(self) -> None:
        self.browse(self._read)
        self.following = True

    async def _read(self, offset: int, limit: int) -> Page[Event]:
        client = session_of(self).client
        last = await client.last_event()
        # Ids count from 1 without gaps, so the row at offset n has the id n + 1.
        begins = offset if offset >= 0 else max(0, last + offset)
        return Page(begins, await client.events(after=begins, limit=limit), last)
