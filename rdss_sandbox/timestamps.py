"""Moments as the sandbox writes them everywhere."""

from __future__ import annotations

from datetime import UTC, datetime


def timestamp(seconds: float) -> str:
    """RFC 3339 with milliseconds and ``Z`` for seconds since the epoch."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
