"""Where in a TOML file a key stands, which Python's parser does not tell."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from typing import Any


def line_of(text: str, path: Sequence[str | int]) -> int:
    """The line, from 1, at which the statement begins that gives the key at ``path`` its value.

    ``text`` is valid TOML; 1 when it has no such key. It is the first statement after which a parser knows
    the key: so it is right for dotted keys, tables, arrays of tables, and values over several lines.
    """
    lines = text.splitlines()
    begins = 0
    for end in range(1, len(lines) + 1):
        try:
            so_far = tomllib.loads("\n".join(lines[:end]) + "\n")
        except tomllib.TOMLDecodeError:
            continue  # In the middle of a statement.
        if _has(so_far, path):
            return begins + 1
        begins = end
    return 1


def _has(value: Any, path: Sequence[str | int]) -> bool:
    for step in path:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return False
    return True
