"""JSON and long texts as lines."""

from __future__ import annotations

import json
from typing import Any


def pretty(value: Any) -> list[str]:
    """JSON as lines, two blanks a level."""
    return json.dumps(value, indent=2, ensure_ascii=False).split("\n")


def wrapped(text: str, width: int) -> list[str]:
    """A text's lines, those longer than ``width`` cut into several."""
    return [
        line[start : start + width]
        for line in text.split("\n")
        for start in range(0, max(1, len(line)), width)
    ]
