"""The README's picture of the TUI: ``python -m tests.tui.readme_picture`` takes it anew."""

from __future__ import annotations

import asyncio
import re
from html import unescape
from pathlib import Path
from typing import Final

from tests.tui.canned import Canned
from tests.tui.conftest import WIDE, until
from tui.app import SandboxApp
from tui.keys.preferences import Preferences

PICTURE: Final = Path(__file__).parents[2] / "docs/streams.svg"
_TEXT: Final = re.compile(r"<text[^>]*>([^<]*)</text>")


async def taken() -> str:
    """The screen of streams with canned messages, as SVG."""
    app = SandboxApp(Canned(), Preferences(theme="sandbox-dark"))  # type: ignore[arg-type]
    async with app.run_test(size=WIDE) as pilot:
        await until(pilot, lambda: app.snapshot is not None)
        for _ in range(20):
            await pilot.pause(0.05)
        return app.export_screenshot(title="sandbox tui")


def words(svg: str) -> list[str]:
    """What a picture says, in order."""
    return [text for each in _TEXT.findall(svg) if (text := unescape(each).strip())]


if __name__ == "__main__":
    PICTURE.write_text(asyncio.run(taken()), encoding="utf-8")
