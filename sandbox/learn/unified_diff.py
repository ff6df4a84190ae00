"""Unified diffs: a lesson's solution is one, of its broken client."""

from __future__ import annotations

import re
from typing import Final

_HUNK: Final = re.compile(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@")


def apply_diff(diff: str, text: str) -> str:
    """Return the text as the diff changes it.

    Every hunk has to fit where it says that it stands. Raises ValueError with the first line that does not.
    """
    before, after, place = text.splitlines(), list[str](), 0
    began = False
    for number, line in enumerate(diff.splitlines(), 1):
        if hunk := _HUNK.match(line):
            # A hunk that takes no line stands behind the line that it names.
            start = int(hunk[1]) - (hunk[2] != "0")
            if not place <= start <= len(before):
                raise ValueError(f"line {number} stands at no line of what it changes: {line}")
            after += before[place:start]
            place, began = start, True
        elif began and line.startswith("+"):
            after.append(line[1:])
        elif began and not line.startswith("\\"):
            if line[:1] not in {"-", " ", ""} or before[place : place + 1] != [line[1:]]:
                raise ValueError(f"line {number} does not fit what it changes: {line}")
            after += before[place : place + (not line.startswith("-"))]
            place += 1
    if not began:
        raise ValueError("it changes nothing")
    return "\n".join([*after, *before[place:]]) + "\n"
