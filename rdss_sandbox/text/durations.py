"""Durations as people write them: ``200ms``, ``5s``, ``6m``, ``24h``, ``7d``."""

from __future__ import annotations

import re

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_WRITTEN = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)?\Z")


def write_duration(length: float) -> str:
    """Seconds as people write them, in the largest unit of which it is a whole number.

    >>> write_duration(5400), write_duration(0.25)
    ('90m', '0.25s')
    """
    for unit in ("d", "h", "m"):
        if length and length % _UNITS[unit] == 0:
            return f"{int(length / _UNITS[unit])}{unit}"
    return f"{int(length) if float(length).is_integer() else length}s"


def seconds(written: object) -> float:
    """The duration in seconds; a number, and a text without a unit, already is in seconds.

    Raises ValueError for anything else and for a negative number.
    """
    if isinstance(written, (int, float)) and not isinstance(written, bool) and written >= 0:
        return float(written)
    found = _WRITTEN.match(written.strip()) if isinstance(written, str) else None
    if not found:
        raise ValueError(
            f"{written!r} is not a length of time: give seconds, or a text such as 200ms, 5s, 6m or 24h"
        )
    return float(found[1]) * _UNITS[found[2] or "s"]
