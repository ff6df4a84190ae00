"""Text of any length, drawn line by line, so that JSON of megabytes scrolls as fast as short texts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip

from rdss_sandbox.text.visible_text import visible

_JSON_PARTS = re.compile(
    r'(?P<key>"(?:[^"\\]|\\.)*"(?=\s*:))|(?P<text>"(?:[^"\\]|\\.)*")|(?P<other>\b[\w.+-]+\b)'
)
_LONGEST_LINE = 20_000


class TextLines(ScrollView, can_focus=True):
    """Shows lines of text with colours for JSON and diffs."""

    ALLOW_SELECT: ClassVar[bool] = True
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        *(f"text-lines--{part}" for part in ("key", "text", "other", "removed", "added")),
    }
    DEFAULT_CSS = """
    TextLines {
        background: $surface;
        height: 1fr;
        padding: 0 1;
        overflow: auto auto;
        scrollbar-size: 1 1;
        .text-lines--key { color: $text-primary; }
        .text-lines--text { color: $text-success; }
        .text-lines--other { color: $text-accent; }
        .text-lines--removed { background: $error 20%; }
        .text-lines--added { background: $success 20%; }
    }
    """

    def __init__(self, id: str | None = None, *, title: str = "") -> None:  # noqa: A002 -- Textual's name for it
        super().__init__(id=id)
        self.border_title = title
        self._lines: Sequence[str] = ()
        self._json = False
        self._signs = False

    def show(self, lines: Sequence[str], *, json: bool = False, signs: bool = False) -> None:
        """Show these lines from the top. ``signs`` marks a diff: lines start with ``-``, ``+`` or a blank."""
        self._lines, self._json, self._signs = lines, json, signs
        width = max((len(line) for line in lines), default=0)
        self.virtual_size = Size(min(width, _LONGEST_LINE), len(lines))
        self.scroll_to(0, 0, animate=False)
        self.refresh()

    @property
    def text(self) -> str:
        return "\n".join(self._lines)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        return selection.extract(self.text), "\n"

    def render_line(self, y: int) -> Strip:
        left, top = self.scroll_offset
        base = self.rich_style
        if top + y >= len(self._lines):
            return Strip.blank(self.size.width, base)
        line = visible(self._lines[top + y][:_LONGEST_LINE])
        if self._signs and line[:1] in {"-", "+"}:
            name = "removed" if line[0] == "-" else "added"
            # Its own background alone would be in full: it is the pane's, and a fifth of it.
            base += Style(bgcolor=self.get_component_rich_style(f"text-lines--{name}").bgcolor)
        segments = list(self._colour(line, base)) if self._json else [Segment(line, base)]
        strip = Strip(segments).crop_extend(left, left + self.size.width, base)
        return strip.apply_offsets(left, top + y)

    def _colour(self, line: str, base: Style) -> list[Segment]:
        segments, place = [], 0
        for match in _JSON_PARTS.finditer(line):
            segments.append(Segment(line[place : match.start()], base))
            part = self.get_component_rich_style(f"text-lines--{match.lastgroup}", partial=True)
            segments.append(Segment(match[0], base + part))
            place = match.end()
        return [*segments, Segment(line[place:], base)]
