"""The app in front of a client, driven and read as a person does."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from textual._compositor import Compositor
from textual.css.query import NoMatches
from textual.css.stylesheet import Stylesheet
from textual.pilot import Pilot
from textual.widgets import Input

from emulator.clock import stopwatch
from tui.app import SandboxApp
from tui.keys.actions import places
from tui.keys.preferences import Preferences
from tui.widgets import banner

WIDE = (160, 48)


NARROW = (80, 24)


OURS = {"streams", "sequences", "audit", "errors", "faults", "buckets", "scenarios"}


"""The screens that are there whichever extensions are installed."""


_draw = Compositor.render_update
_parse = Stylesheet._parse_rules
_parsed: dict[Any, Any] = {}


def _draw_pictures_only(compositor: Compositor, full: bool = False, **named: Any) -> Any:
    """An app without a terminal throws away each change that it has drawn: half of its time."""
    if full:
        return _draw(compositor, full, **named)
    compositor._dirty_regions.clear()
    return None


def _parse_once(sheet: Stylesheet, css: str, **named: Any) -> Any:
    """Each app reads all style sheets anew, a tenth of its time: what they say is kept from app to app."""
    key = (css, frozenset(sheet._variables.items()), *named.values())
    if key not in _parsed:
        _parsed[key] = _parse(sheet, css, **named)
    return _parsed[key]


Compositor.render_update = _draw_pictures_only  # type: ignore[method-assign]
Stylesheet._parse_rules = _parse_once  # type: ignore[method-assign]


def show_screens(monkeypatch: pytest.MonkeyPatch, *more: str) -> None:
    """Have the top line name our own screens and these alone: a picture of it is then the same everywhere."""
    shown = [place for place in places() if place[1] in {*OURS, *more}]
    monkeypatch.setattr(banner, "places", lambda: iter(shown))


async def until(pilot: Pilot[Any], holds: Callable[[], Any]) -> None:
    """Let the app run until ``holds()``; fails when it does not within a minute."""
    began = stopwatch()
    while not _holds(holds):
        assert stopwatch() - began < 60, f"it did not come about within a minute: {holds}"
        await pilot.pause(0.05)


def _holds(holds: Callable[[], Any]) -> bool:
    try:
        return bool(holds())
    except NoMatches:  # the screen is there, and its widgets are not yet
        return False


async def see(pilot: Pilot[Any], *texts: str) -> None:
    """Let the app run until all of the texts are on the screen."""
    for text in texts:
        try:
            await until(pilot, lambda text=text: text in text_of(pilot))
        except AssertionError:
            raise AssertionError(f"{text!r} is not on the screen:\n{text_of(pilot)}") from None


@asynccontextmanager
async def opened(
    client: Any, *, size: tuple[int, int] = WIDE, preferences: Preferences | None = None
) -> AsyncIterator[Pilot[None]]:
    """The app in front of ``client``, once it has seen it."""
    app = SandboxApp(client, preferences or Preferences())
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: app.snapshot is not None)
        await pilot.pause()
        yield pilot


async def answer(pilot: Pilot[Any], text: str) -> None:
    """Put ``text`` into the field that has the focus, and press enter."""
    await until(pilot, lambda: isinstance(pilot.app.focused, Input))
    pilot.app.focused.value = text
    await pilot.press("enter")


def notices(pilot: Pilot[Any]) -> list[str]:
    """What the app said, oldest first."""
    return [notice.message for notice in pilot.app._notifications]


def text_of(pilot: Pilot[Any]) -> str:
    """What stands on the screen, as lines of text."""
    return "\n".join(strip.text for strip in pilot.app.screen._compositor.render_strips())
