"""Formats of figures on screen: counts, sizes, times, durations, identifiers."""

from __future__ import annotations

from datetime import UTC, datetime

_SIZES = ((1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB"))
_SPANS = ((86_400.0, "d"), (3_600.0, "h"), (60.0, "min"), (1.0, "s"))


def count(number: int) -> str:
    """``1,234,567``."""
    return f"{number:,}"


def counted(number: int, noun: str) -> str:
    """A count with its noun: ``1 message``, ``1,234 messages``. Plurals that are not regular do not occur."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def short_count(number: int) -> str:
    """A count in at most six cells: ``12,345``, ``123k``, ``4.50M``."""
    if number < 100_000:
        return f"{number:,}"
    return f"{number // 1000}k" if number < 1_000_000 else f"{_three(number / 1e6)}M"


def size(number: int) -> str:
    """Bytes in decimal units with three figures: ``812 B``, ``3.52 kB``, ``1.01 MB``."""
    for unit, name in _SIZES:
        if number >= unit:
            return f"{_three(number / unit)} {name}"
    return f"{number} B"


def rate(per_second: float) -> str:
    """Records per second: ``0/s``, ``7.5/s``, ``2,013/s``."""
    return (
        f"{per_second:,.0f}/s" if per_second >= 10 or per_second == int(per_second) else f"{per_second:.1f}/s"
    )


def clock_time(seconds: float) -> str:
    """The time of day in UTC with milliseconds: ``08:04:11.090``."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%H:%M:%S.%f")[:-3]


def date_time(seconds: float) -> str:
    """Date and time of day in UTC with milliseconds: ``2026-11-21 08:04:11.090``."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]


def span(seconds: float) -> str:
    """A duration in its largest fitting unit: ``340 ms``, ``2.5 s``, ``6.0 min``."""
    for unit, name in _SPANS:
        if abs(seconds) >= unit:
            return f"{seconds / unit:.1f} {name}"
    return f"{seconds * 1000:.0f} ms"


def shard(identifier: str) -> str:
    """The short name of a shard: ``shardId-000000000012`` becomes ``0012``; other names stay whole.

    The single shard of an AMQP queue becomes ``amqp``. A folder of a bucket stays whole.
    """
    if identifier.startswith("amqp-"):
        return "amqp"
    _, dash, digits = identifier.rpartition("-")
    return digits[-4:] if dash and digits.isdigit() and "/" not in identifier else identifier


def tail(text: str, length: int) -> str:
    """The last ``length`` cells of a long identifier, where identifiers differ: ``…4471203``."""
    return text if len(text) <= length else "…" + text[1 - length :]


def _three(number: float) -> str:
    return f"{number:.2f}" if number < 10 else f"{number:.1f}" if number < 100 else f"{number:.0f}"
