"""The time slider of a recorded run: elapsed time, turning points and the present position."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from rdss_sandbox.shapes.events import Event
from tui.text.bars import sparkline
from tui.text.narration import TURNS


class Timeline(Widget):
    """Shows the events from left to right in their order; a click posts ``Sought``."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"timeline--{part}" for part in ("past", "future", "turn", "knob")
    }
    DEFAULT_CSS = """
    Timeline {
        height: 3; padding: 0 1; background: $panel-darken-1;
        .timeline--past { color: $primary; }
        .timeline--future { color: $text-muted; }
        .timeline--turn { color: $text-warning; text-style: bold; }
        .timeline--knob { color: $text-accent; text-style: bold; }
    }
    """

    @dataclass
    class Sought(Message):
        """The user chose the event at ``index``."""

        index: int

    def __init__(self, happened: Sequence[Event]) -> None:
        super().__init__()
        self._happened = happened
        self._index = 0
        self._drawn: tuple[int, str, str] = (0, "", "")

    def show(self, index: int) -> None:
        """Move the knob to the event at ``index``."""
        self._index = index
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is not None and self.size.width > 1:
            share = offset.x / (self.size.width - 1)
            self.post_message(self.Sought(round(share * (len(self._happened) - 1))))

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        if width < 1:
            return Strip.blank(width)
        knob = self._cell(self._index, width)
        _, moved, turns = self._drawing(width)
        past, future = self._style("past"), self._style("future")
        if y == 0:
            return Strip([Segment(moved[: knob + 1], past), Segment(moved[knob + 1 :], future)], width)
        if y == 1:
            return Strip([Segment(turns, self._style("turn"))], width)
        line = [Segment("━" * knob, past), Segment("●", self._style("knob"))]
        return Strip([*line, Segment("─" * (width - knob - 1), future)], width)

    def _drawing(self, width: int) -> tuple[int, str, str]:
        """The elapsed time in each cell as bars, and the signs of turning points; cached by width."""
        if self._drawn[0] != width:
            waits, signs = [0.0] * width, [" "] * width
            before = self._happened[0].time
            for index, event in enumerate(self._happened):
                cell = self._cell(index, width)
                waits[cell] += max(0.0, event.time - before)
                signs[cell] = TURNS.get(event.kind, signs[cell])
                before = event.time
            self._drawn = (width, sparkline(waits, width), "".join(signs))
        return self._drawn

    def _cell(self, index: int, width: int) -> int:
        return min(width - 1, index * width // max(1, len(self._happened)))

    def _style(self, name: str) -> Style:
        return self.get_component_rich_style(f"timeline--{name}")
