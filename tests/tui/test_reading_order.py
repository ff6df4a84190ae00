"""Who cannot see the colours, or has the screen read aloud from top to bottom, misses nothing."""

from __future__ import annotations

from functools import partial

import pytest
from textual.pilot import Pilot
from textual.widget import Widget

from tests.tui.app_pilot import NARROW, WIDE, opened, text_of, until
from tests.tui.canned import Canned
from tui.widgets.row_list import RowList

PLACES = {
    "streams": "1",
    "sequences": "2",
    "audit": "3",
    "errors": "4",
    "faults": "5",
    "buckets": "6",
    "scenarios": "7",
}


def leaves(pilot: Pilot[None]) -> list[Widget]:
    """What is to be read on the screen, in the order in which it was composed: that of a screen reader."""
    return [
        widget
        for widget in pilot.app.screen.walk_children(Widget)
        if widget.region.area and not widget.children and widget.display
    ]


@pytest.mark.parametrize("place", PLACES)
async def test_a_small_screen_is_read_from_top_to_bottom(canned: Canned, place: str) -> None:
    """Nothing that comes later stands higher, so that what is read aloud line by line makes sense."""
    async with opened(canned, size=NARROW) as pilot:
        await pilot.press(PLACES[place])
        await until(pilot, lambda: pilot.app.current_mode == place)
        await until(pilot, lambda: any(rows.total for rows in pilot.app.screen.query(RowList)))
        tops = [widget.region.y for widget in leaves(pilot)]
        assert tops == sorted(tops)


def _has_focus(pilot: Pilot[None], widget: Widget) -> bool:
    return pilot.app.focused is widget


@pytest.mark.parametrize("place", PLACES)
async def test_tab_goes_the_way_the_screen_is_read(canned: Canned, place: str) -> None:
    """On a wide screen the left half from top to bottom, then the right."""
    async with opened(canned, size=WIDE) as pilot:
        await pilot.press(PLACES[place])
        await until(pilot, lambda: pilot.app.current_mode == place)
        chain = [widget for widget in pilot.app.screen.focus_chain if widget.region.area]
        assert len(chain) >= 1
        places = [(widget.region.x, widget.region.y) for widget in chain]
        assert places == sorted(places)
        for widget in chain:
            widget.focus()
            await until(pilot, partial(_has_focus, pilot, widget))


async def test_without_colour_nothing_is_lost(canned: Canned, monkeypatch: pytest.MonkeyPatch) -> None:
    """With NO_COLOR there is no colour at all, and what colours say stands there in signs and words."""
    monkeypatch.setenv("NO_COLOR", "1")
    async with opened(canned) as pilot:
        await until(pilot, lambda: pilot.app.screen.query_one("#tree", RowList).total > 0)
        await pilot.press("5")
        await until(pilot, lambda: "‖" in text_of(pilot))  # a paused fault
        await pilot.press("1", "up")
        await until(pilot, lambda: "○ 0000" in text_of(pilot) and "● 0001" in text_of(pilot))
        colours = {
            colour.triplet
            for strip in pilot.app.screen._compositor.render_strips()
            for segment in strip
            if segment.style
            for colour in (segment.style.color, segment.style.bgcolor)
            if colour is not None
        }
        assert colours
        assert [c for c in colours if c is None or not c.red == c.green == c.blue] == []


async def test_the_row_under_the_cursor_is_told_apart_without_colour(
    canned: Canned, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is bold, and no other row is."""
    monkeypatch.setenv("NO_COLOR", "1")
    async with opened(canned) as pilot:
        rows = pilot.app.screen.query_one("MessageList", RowList)
        await until(pilot, lambda: rows.current is not None)
        lines = [rows.render_line(y) for y in range(1, rows.size.height)]
        bold = [all(segment.style and segment.style.bold for segment in strip) for strip in lines]
        assert bold.count(True) == 1
        assert bold[rows.cursor - round(rows.scroll_y)]
