"""The changes that put a bug into a right client: ``changes/SHAPE.diff``.

A section is a kind of bug, behind ``#``. It has hunks as a unified diff has them, with lines ``@@`` between
that have no numbers: what a hunk takes away, with the lines around it, is in the program exactly once.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, NamedTuple

FOLDER: Final = Path(__file__).parent / "changes"
_SECTION: Final = re.compile(r"^# (.+)$", re.MULTILINE)


class Hunk(NamedTuple):
    """Whole lines of a right program, and what stands there instead."""

    old: str
    new: str


def read_changes(file: Path) -> dict[str, tuple[Hunk, ...]]:
    """The hunks of each kind of bug that there is in a file of changes; none where there is no file."""
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    _, *parts = _SECTION.split(text)
    return {
        kind: tuple(_read_hunk(hunk) for hunk in section.split("\n@@\n"))
        for kind, section in zip(parts[::2], parts[1::2], strict=True)
    }


def apply(hunks: tuple[Hunk, ...], program: str) -> str:
    """The program with the changes. Raises ``ValueError`` where what is changed is not there once."""
    text = f"\n{program}"
    for old, new in hunks:
        if text.count(f"\n{old}\n") != 1:
            raise ValueError(f"not there once, but {text.count(f'{chr(10)}{old}{chr(10)}')} times:\n{old}")
        text = text.replace(f"\n{old}\n", f"\n{new}\n" if new else "\n")
    return text[1:]


def _read_hunk(text: str) -> Hunk:
    lines = text.strip("\n").split("\n")
    return Hunk(
        "\n".join(line[1:] for line in lines if not line.startswith("+")),
        "\n".join(line[1:] for line in lines if not line.startswith("-")),
    )
