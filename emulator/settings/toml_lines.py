"""Finds the line of a key in a TOML file, which Python's parser does not report."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from typing import Any


def line_of(text: str, path: Sequence[str | int]) -> int:
    """The line, from 1, where the statement begins that sets the key at ``path``; 1 without such a key.

    ``text`` is valid TOML. The parser reads ever longer beginnings of it until the key is known. So the
    line is right for dotted keys, tables, arrays of tables, and values of several lines.
    """
    lines = text.splitlines()
    begins = 0
    for end in range(1, len(lines) + 1):
        try:
            so_far = tomllib.loads("\n".join(lines[:end]) + "\n")
        except tomllib.TOMLDecodeError:
            continue  # In the middle of a statement.
        if _has_key(so_far, path):
            return begins + 1
        begins = end
    return 1


def _has_key(value: Any, path: Sequence[str | int]) -> bool:
    for step in path:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return False
    return True
