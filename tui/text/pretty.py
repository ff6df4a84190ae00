"""JSON and long texts, split into lines."""

from __future__ import annotations

import json
from typing import Any

import msgspec


def pretty(value: Any) -> list[str]:
    """A value of JSON, or a shape, as lines of JSON, indented by two blanks."""
    return json.dumps(value, indent=2, ensure_ascii=False, default=msgspec.to_builtins).split("\n")


def wrap(text: str, width: int) -> list[str]:
    """The lines of a text; a line longer than ``width`` becomes several."""
    return [
        line[start : start + width]
        for line in text.split("\n")
        for start in range(0, max(1, len(line)), width)
    ]
