"""The one format of timestamps, and how they are read."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

LATEST: Final[float] = 253_370_764_800
"""9999-01-01T00:00:00Z in seconds since the epoch. Every clock stops there, a year before dates end."""


@lru_cache(maxsize=64)  # The records of one call arrived at one time, and each is written with it.
def timestamp(seconds: float) -> str:
    """Seconds since the epoch as RFC 3339 with milliseconds and ``Z``."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def read_timestamp(text: str) -> float:
    """Seconds since the epoch of a time as people write it; UTC where it names no zone. Raises ValueError."""
    try:
        return float(text)
    except ValueError:
        pass
    try:
        found = datetime.fromisoformat(text)
    except ValueError as error:
        raise ValueError(
            f"{text!r} is not a time; write 2026-03-01T12:00:00Z or seconds since the epoch"
        ) from error
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
