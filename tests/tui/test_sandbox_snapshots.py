"""Every place of the TUI, and its dialogs, in front of a seeded sandbox at four sizes: what stands there.

As text, with what differs from run to run masked: digits and bars. ``--snapshot-update`` takes it anew.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from rdss_sandbox.client import AsyncClient
from tests.docs.pictures.screens import seeded_sandbox
from tests.tui.app_pilot import OURS, opened, show_screens, text_of, until
from tui.keys.actions import places
from tui.widgets.row_list import RowList

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("seeded")]
SIZES = ((80, 24), (100, 30), (120, 40), (200, 60))
DIALOGS = {
    "readers": ("1", "r"),
    "events": ("1", "v"),
    "plots": ("1", "p"),
    "findings": ("1", "w"),
    "message": ("4", "enter"),
    "life line": ("4", "l"),
    "edit": ("4", "E"),
    "new fault": ("5", "a"),
    "filter": ("4", "slash"),
    "go to": ("1", "colon"),
    "help": ("1", "question_mark"),
    "commands": ("1", "ctrl+p"),
    "why": ("7", "w"),
    "seed": ("7", "s"),
}
"""The keys that lead to what opens over a place, or takes the place of its list."""
_FOLDER = Path(__file__).with_name("sandbox_snapshots")
_ALIKE = 4
"""How many looks in a row find the same, before it is taken to stay."""
_RATES = re.compile(r" *(no records yet|(most [\d.,]+/s, )?now [\d.,]+/s)")
_EVENT = re.compile("^ 00:00:00  .*")
_BARS = re.compile("[▁-█▉-▏⠀-⣿]")


@pytest.fixture(scope="module")
def control() -> Iterator[str]:
    with seeded_sandbox() as address:
        yield address


@pytest.mark.parametrize(
    "size",
    [
        pytest.param(
            size, id=f"{size[0]}x{size[1]}", marks=() if size in (SIZES[0], SIZES[-1]) else pytest.mark.long
        )
        for size in SIZES
    ],
)
async def test_every_place_looks_as_it_did(
    control: str, size: tuple[int, int], request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With what it holds: a column that is cut, a pane that is empty or a footer that is long changes it."""
    show_screens(monkeypatch)
    keys = {name: (key,) for key, name, _ in places() if name in OURS} | DIALOGS
    folder = _FOLDER / f"{size[0]}x{size[1]}"
    seen = {name: await _look(control, size, each) for name, each in keys.items()}
    if request.config.getoption("--snapshot-update"):
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in seen.items():
            (folder / f"{name}.txt").write_text(text, encoding="utf-8")
    kept = {file.stem: file.read_text(encoding="utf-8") for file in folder.glob("*.txt")}
    assert seen.keys() == kept.keys()
    for name, text in seen.items():
        new, gone = (
            _count_words(text) - _count_words(kept[name]),
            _count_words(kept[name]) - _count_words(text),
        )
        assert (new, gone) == (Counter(), Counter()), f"{name} is now\n{text}"


async def _look(control: str, size: tuple[int, int], keys: tuple[str, ...]) -> str:
    """What stands on the screen once nothing changes any more."""
    async with opened(AsyncClient(control), size=size) as pilot:
        for key in keys:
            await until(pilot, lambda: _is_ready(pilot))
            await pilot.press(key)
            await pilot.pause()
            # Which columns are drawn depends on the rows that came: at both ends all of them did.
            for end in "gG" if key == "1" else "":
                await until(pilot, lambda: isinstance(seen := pilot.app.focused, RowList) and seen.total > 1)
                await pilot.press(end)
                await pilot.pause()
        seen = [""]
        while len(seen) < _ALIKE or len({*seen[-_ALIKE:]}) > 1:
            await pilot.pause(0.3)
            seen.append(_mask(text_of(pilot)))
        return seen[-1]


def _count_words(text: str) -> Counter[str]:
    """Each word and how often it stands there; of what happened, only that something did.

    Events of one moment come in any order, and which of them repeat, and so share a row, depends on it.
    """
    cells = [cell for line in text.splitlines() for cell in line.split("│")]
    told = [_EVENT.sub("", cell) for cell in cells]
    return Counter(re.sub("0+", "0", " ".join(told)).split()) + Counter(events=int(told != cells))


def _is_ready(pilot: Pilot[Any]) -> bool:
    lists = pilot.app.screen.query(RowList)
    return not lists or any(each.current is not None for each in lists)


def _mask(text: str) -> str:
    masked = _RATES.sub(" rate", re.sub(r"\d", "0", _BARS.sub(" ", text)))
    return "".join(f"{line.rstrip()}\n" for line in masked.splitlines())
