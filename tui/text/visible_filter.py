"""The last look at every line before a terminal has it: nothing in it is a control character."""

from __future__ import annotations

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter


class VisibleFilter(LineFilter):
    """Leaves out what a terminal would obey, where a widget did not show it as an escape.

    What it leaves out has no width, so that the line keeps its own.
    """

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return the segments without it."""
        del background
        return [_leave_out(each) for each in segments]


def _leave_out(segment: Segment) -> Segment:
    text, style, control = segment
    if control or text.isprintable():
        return segment
    return Segment("".join(each for each in text if each.isprintable() or each in _WIDE), style)


_WIDE = "\u00a0\u3000"
"""Blanks that are not ASCII's: they take room, and nothing obeys them."""
