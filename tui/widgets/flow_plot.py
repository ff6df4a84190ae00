"""The rate and the lag of a stream or shard over the last minute, as two plots side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.widget import Widget

from rdss_sandbox.text.figures import rate, short_count
from tui.text.bars import plot
from tui.text.columns import fit
from tui.text.readings import SECONDS, Readings

_FRAME_ROWS = 2
"""The title above the bars and the time below them."""


class FlowPlots(Horizontal):
    """Shows how many records a second came, and how many waited for the slowest reader."""

    BORDER_TITLE = "rate and lag"
    DEFAULT_CSS = """
    FlowPlots {
        background: $surface;
        Plot { width: 1fr; height: 1fr; padding: 0 1; }
        #rate { color: $text-success; }
        #lag { color: $text-warning; }
    }
    """

    def compose(self) -> ComposeResult:
        yield Plot("rate", rate, "no records yet")
        yield Plot("lag", lambda records: short_count(round(records)), "no reader")

    def show(self, label: str, rates: Readings, lags: Readings, key: str, now: float) -> None:
        """Draw what the readings have under ``key``; ``label`` is its name for people."""
        for id_, what, values in (
            ("#rate", "records/s", rates.rates),
            ("#lag", "behind", lags.levels),
        ):
            drawn = self.query_one(id_, Plot)
            drawn.show(f"{label} {what}", values(key, now, max(1, drawn.size.width)))


class Plot(Widget):
    """A title with the last and the largest value, the bars, and the time below them."""

    def __init__(self, id: str, figure: Callable[[float], str], empty: str) -> None:  # noqa: A002 -- Textual's name for it
        super().__init__(id=id)
        self._figure = figure
        self._empty = empty
        self._title = ""
        self._values: Sequence[float | None] = ()

    def show(self, title: str, values: Sequence[float | None]) -> None:
        """Draw these values, the newest last; None is a time without a reading."""
        if (title, values) != (self._title, self._values):
            self._title, self._values = title, values
            self.refresh()

    def _caption(self, known: Sequence[float], room: int) -> str:
        now = f"now {self._figure(known[-1])}"
        whole = f"most {self._figure(max(known))}, {now}"
        return whole if len(whole) <= room else now

    def render(self) -> Content:
        width, height = self.size
        known = [value for value in self._values if value is not None]
        ago = f"-{SECONDS:.0f} s"
        room = max(1, width - len(ago) - 1)
        caption = self._caption(known, room) if known else self._empty
        return Content("\n").join(
            [
                Content.styled(fit(self._title, width), "bold"),
                *map(Content, plot(self._values[-width:], max(1, height - _FRAME_ROWS))),
                Content.styled(f"{ago} {caption:>{room}}", "$text-muted"),
            ]
        )
