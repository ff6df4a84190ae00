"""The list of the sandbox's events."""

from __future__ import annotations

from collections.abc import Mapping

from rdss_sandbox.shapes.contract import Contract
from rdss_sandbox.shapes.events import Event
from rdss_sandbox.text import figures
from tui.session import session_of
from tui.state.folded_events import EventFolder, FoldedEvent
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


def _times(count: int) -> str:
    """A number of events in four cells, empty for one."""
    if count == 1:
        return ""
    return f"{count} x" if count < 100 else f"{count}x" if count < 1000 else f"{count // 1000}kx"


class EventList(RowList[FoldedEvent]):
    """Shows the events live; it follows the newest until the user scrolls away. Enter shows one whole."""

    def __init__(self) -> None:
        columns = (
            ListColumn[FoldedEvent](
                "UTC", 8, lambda row: figures.clock_time(row.last.time)[:8], "dim", worth=8
            ),
            ListColumn[FoldedEvent](
                "",
                4,
                lambda row: _times(row.count),
                "accent",
                right=True,
                worth=9,
            ),
            ListColumn[FoldedEvent](
                "happened",
                40,
                lambda row: sentence(row.last, self._meanings),
                lambda row: _TONES.get(row.last.kind, ""),
                worth=10,
                stretch=True,
                after=lambda row: remaining_fields(row.last, self._meanings),
            ),
        )
        self._meanings: dict[str, str] = {}
        self._folder = EventFolder()
        super().__init__(
            columns,
            live=lambda news: news.first or bool(news.kinds),
            whole=self._tell,
            empty="nothing happened yet",
            title="what happened",
            id="happened",
        )

    def on_mount(self) -> None:
        self.watch(self.app, "contract", self._learn)
        self.browse(self._read)
        self.following = True

    def _learn(self, contract: Contract) -> None:
        self._meanings = {each.code: each.description for each in contract.codes}
        self.redraw()

    def _tell(self, row: FoldedEvent) -> Whole:
        said, lines = tell_event(row.last, self._meanings)
        if row.count == 1:
            return said, lines
        since = f"{figures.clock_time(row.first)} UTC"
        return f"{said}\nThis is the last of {figures.count(row.count)} alike, the first at {since}.", lines

    async def _read(self, offset: int, limit: int) -> Page[FoldedEvent]:
        return await self._folder.read(session_of(self).client, offset, limit)
