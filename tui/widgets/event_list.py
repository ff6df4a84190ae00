"""The list of the sandbox's events."""

from __future__ import annotations

from collections.abc import Mapping

from rdss_sandbox.shapes.contract import Contract
from rdss_sandbox.shapes.events import Event
from rdss_sandbox.text import figures
from tui.session import session_of
from tui.state.paging import Page
from tui.text.columns import ListColumn
from tui.text.narration import remaining_fields, sentence
from tui.text.pretty import pretty
from tui.widgets.row_list import RowList, Whole

_TONES = {"fault.injected": "warning", "stream.resharded": "accent", "request.failed": "error"}


def tell_event(event: Event, meanings: Mapping[str, str]) -> Whole:
    """The event's sentence, and its kind, time and fields; ``meanings`` are those of error codes."""
    at = f"{figures.date_time(event.time)} UTC"
    return sentence(event, meanings), pretty({"kind": event.kind, "time": at} | event.fields)


class EventList(RowList[Event]):
    """Shows the events live; it follows the newest until the user scrolls away. Enter shows one whole."""

    def __init__(self) -> None:
        columns = (
            ListColumn[Event]("UTC", 8, lambda row: figures.clock_time(row.time)[:8], "dim", worth=8),
            ListColumn[Event](
                "happened",
                42,
                lambda row: sentence(row, self._meanings),
                lambda row: _TONES.get(row.kind, ""),
                worth=9,
                stretch=True,
                after=lambda row: remaining_fields(row, self._meanings),
            ),
        )
        self._meanings: dict[str, str] = {}
        super().__init__(
            columns,
            live=lambda news: news.first or bool(news.kinds),
            whole=lambda event: tell_event(event, self._meanings),
            empty="nothing happened yet",
            id="happened",
        )

    def on_mount(self) -> None:
        self.watch(self.app, "contract", self._learn)
        self.browse(self._read)
        self.following = True

    def _learn(self, contract: Contract) -> None:
        self._meanings = {each.code: each.description for each in contract.codes}
        self.redraw()

    async def _read(self, offset: int, limit: int) -> Page[Event]:
        client = session_of(self).client
        last = await client.last_event()
        # Ids count from 1 without gaps, so the row at offset n has the id n + 1.
        begins = offset if offset >= 0 else max(0, last + offset)
        return Page(begins, await client.events(after=begins, limit=limit), last)
