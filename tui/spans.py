"""Lengths of time as people write them."""

from __future__ import annotations

import re

SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)?")


def seconds(text: str) -> float:
    """``30s``, ``6m``, ``24h``, ``7d``, ``200ms``, or a number of seconds. ValueError for anything else."""
    match = _SPAN.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is no length of time; write 30s, 6m, 24h or 7d")
    return float(match[1]) * SECONDS[match[2] or "s"]
