"""The README's animation: a terminal in which the commands of the tutorial are typed, and answer.

The text is that of ``docs/tutorial.md``. ``tests/docs/test_pages.py`` runs it against a seeded sandbox and
holds the outputs to it, so what moves here is what came.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Final

from rich.console import Console
from rich.terminal_theme import DIMMED_MONOKAI
from rich.text import Text

from tests.docs.pages import ROOT, blocks

_COLUMNS: Final = 100
_TYPED_SECONDS, _ANSWER_SECONDS = 1.1, 0.5
_STYLE: Final = """\
@keyframes appear { from { opacity: 0 } to { opacity: 1 } }
.later { opacity: 0; animation: appear 0.1s forwards }
@media (prefers-reduced-motion: reduce) { .later { opacity: 1; animation: none } }
"""


def animate_first_minute() -> str:
    """The animation as SVG. It plays once and stops at its end; who wants no motion sees the end at once."""
    console = Console(width=_COLUMNS, record=True, file=io.StringIO(), force_terminal=True, highlight=False)
    begins: list[float] = []
    at = 0.0
    for line in _list_lines():
        text = _colour(line)
        rows = len(text.wrap(console, _COLUMNS))
        begins += [at] * rows
        console.print(text)
        at += _TYPED_SECONDS if line.startswith("$ ") else _ANSWER_SECONDS
    svg = console.export_svg(title="the first minutes", theme=DIMMED_MONOKAI, unique_id="minute")
    svg = re.sub(r"@font-face \{.*?\}\n?", "", svg, flags=re.DOTALL)  # fonts would come from the network
    svg = svg.replace("<style>", f"<style>\n{_STYLE}", 1)
    return re.sub(
        r'<(text|rect) class="(minute-r\d+)"(?=[^>]*clip-path="url\(#minute-line-(\d+)\)")',
        lambda shape: f"<{shape[1]} {_place(shape[2], begins[int(shape[3])])}",
        svg,
    )


def _place(style: str, begin: float) -> str:
    """The attributes of a line's shape. The first line is there from the start: an empty box says nothing."""
    return f'style="animation-delay:{begin:.1f}s" class="{style} later"' if begin else f'class="{style}"'


def _list_lines() -> Iterator[str]:
    """What the tutorial shows in a terminal, up to what the sandbox found."""
    shown = [block.text for block in blocks(ROOT / "docs/tutorial.md") if block.language == "console"]
    last = next(number for number, text in enumerate(shown) if "$ sandbox diagnose" in text)
    for text in shown[: last + 1]:
        yield from text.splitlines()


def _colour(line: str) -> Text:
    """A typed line is bold, and what went wrong is red."""
    if line.startswith("$ "):
        return Text(line, style="bold bright_white")
    return Text(line, style="bold red" if line.startswith("unread-child") else "white")
