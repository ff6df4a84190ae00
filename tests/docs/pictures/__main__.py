"""``python -m tests.docs.pictures`` makes all pictures of the pages. Those of runs need a Chromium."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Final

from tests.docs.pages import ROOT
from tests.docs.pictures import drawings
from tests.docs.pictures.first_minute import animate_first_minute
from tests.docs.pictures.run_pages import take_run_pages
from tests.docs.pictures.screens import take_screens

FOLDER: Final = ROOT / "docs/pictures"


def make_all(folder: Path) -> None:
    pictures = {
        "first-minute": animate_first_minute(),
        "at-least-once": drawings.draw_at_least_once(),
        "resharding": drawings.draw_resharding(),
        "sequences": drawings.draw_sequences(),
        "rdss": drawings.draw_rdss(),
        "states": drawings.draw_states(),
    } | {f"tui-{name}": svg for name, svg in asyncio.run(take_screens()).items()}
    folder.mkdir(exist_ok=True)
    for name, svg in pictures.items():
        (folder / f"{name}.svg").write_text(svg, encoding="utf-8")
    for name, png in take_run_pages().items():
        (folder / f"{name}.png").write_bytes(png)


if __name__ == "__main__":
    make_all(FOLDER)
