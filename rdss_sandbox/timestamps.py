"""The one format of timestamps."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache


@lru_cache(maxsize=64)  # The records of one call arrived at one time, and each is written with it.
def timestamp(seconds: float) -> str:
    """Seconds since the epoch as RFC 3339 with milliseconds and ``Z``."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
