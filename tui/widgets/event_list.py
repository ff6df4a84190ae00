"""The list of the sandbox's events."""

from __future__ import annotations

from rdss_sandbox import figures
from rdss_sandbox.shapes.events import Event, News
from tui.session import session_of
from tui.state.paging import Page
from tui.text.columns import Column
from tui.text.narration import remaining_fields, sentence
from tui.text.pretty import pretty
from tui.widgets.row_list import RowList, Whole

_TONES = {"fault.injected": "warning", "stream.resharded": "accent", "request.failed": "error"}

EVENT_COLUMNS: tuple[Column[Event], ...] = (
    Column("UTC", 8, lambda row: figures.clock_time(row.time)[:8], lambda _: "dim", worth=8),
    Column(
        "happened",
        42,
        sentence,
        lambda row: _TONES.get(row.kind, ""),
        worth=9,
        stretch=True,
        after=remaining_fields,
    ),
)


def tell_event(event: Event) -> Whole:
    """The event's sentence, and its kind, time and fields."""
    at = f"{figures.date_time(event.time)} UTC"
    return sentence(event), pretty({"kind": event.kind, "time": at} | event.fields)


def _happened(news: News) -> bool:
    return news.first or bool(news.kinds)


class EventList(RowList[Event]):
    """Shows the events live; it follows the newest until the user scrolls away. Enter shows one whole."""

    def __init__(self) -> None:
        super().__init__(
            EVENT_COLUMNS, live=_happened, whole=tell_event, empty="nothing happened yet", id="happened"
        )

    def on_mount(self) -> None:
        self.browse(self._read)
        self.following = True

    async def _read(self, offset: int, limit: int) -> Page[Event]:
        client = session_of(self).client
        last = await client.last_event()
        # Ids count from 1 without gaps, so the row at offset n has the id n + 1.
        begins = offset if offset >= 0 else max(0, last + offset)
        return Page(begins, await client.events(after=begins, limit=limit), last)
