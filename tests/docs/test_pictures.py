"""The pictures of the pages show what there is. When one is stale: make pictures."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import ROOT
from tests.docs.pictures import drawings, run_pages
from tests.docs.pictures.first_minute import animate_first_minute
from tests.docs.pictures.screens import SCREENS, take_screens, words

FOLDER = ROOT / "docs/pictures"
MOST_BYTES = 500_000


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("first-minute", animate_first_minute),
        ("at-least-once", drawings.draw_at_least_once),
        ("resharding", drawings.draw_resharding),
        ("sequences", drawings.draw_sequences),
        ("rdss", drawings.draw_rdss),
        ("states", drawings.draw_states),
    ],
)
def test_a_drawing_is_what_would_be_drawn(name: str, make) -> None:
    """Byte for byte: the tutorial's outputs, a sandbox's shards and a message's parts are as they were."""
    assert (FOLDER / f"{name}.svg").read_text(encoding="utf-8") == make(), "stale: make pictures"


async def test_the_screens_show_what_the_tui_shows() -> None:
    """Places, headings, messages and keys; what moves with time, bars and rates, is no matter of it."""
    for name, screen in (await take_screens()).items():
        picture = (FOLDER / f"tui-{name}.svg").read_text(encoding="utf-8")
        assert words(picture) == words(screen), f"tui-{name}.svg is stale: make pictures"


@pytest.mark.parametrize("name", run_pages.PAGES)
def test_a_picture_of_a_run_is_of_the_page_that_the_run_has(name: str, tmp_path: Path) -> None:
    """By the digest of the page that the picture was taken of: the run is played again, with its seed."""
    digest = run_pages.read_digest((FOLDER / f"{name}.png").read_bytes())
    assert digest == run_pages.digest_page(run_pages.play_page(name, tmp_path)), "stale: make pictures"


def test_every_picture_of_a_run_is_made_and_small() -> None:
    """None by hand, and none that is long in coming."""
    pictures = sorted(FOLDER.glob("*.png"))
    assert [path.stem for path in pictures] == sorted(run_pages.PAGES)
    assert all(len(path.read_bytes()) < MOST_BYTES for path in pictures)


def test_every_picture_is_small_and_fetches_nothing() -> None:
    """The README is read over slow lines too; the site is read without any."""
    pictures = sorted(FOLDER.glob("*.svg"))
    assert len(pictures) == 6 + len(SCREENS)
    for path in pictures:
        svg = path.read_text(encoding="utf-8")
        assert len(svg) < MOST_BYTES, path.name
        assert not re.search(r"(?:href|src)=|url\((?!#)|@import", svg), path.name


def test_the_animation_can_be_read_by_who_wants_no_motion() -> None:
    """Its end is shown at once then. Otherwise the first line is there, and every other one comes later."""
    svg = (FOLDER / "first-minute.svg").read_text(encoding="utf-8")
    assert "prefers-reduced-motion: reduce" in svg
    delays = [float(each) for each in re.findall(r"animation-delay:([\d.]+)s", svg)]
    assert delays == sorted(delays)
    first, second = re.findall(r'<text ([^>]*)clip-path="url\(#minute-line-[01]\)"', svg)[::2]
    assert "later" not in first
    assert "later" in second
    assert 10 < delays[-1] < 60, "the first minute"
