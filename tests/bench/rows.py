"""What a benchmark says: one value of one measure of one subject."""

from __future__ import annotations

from typing import Literal, NamedTuple

Better = Literal["less", "more"]

US = "rdss-sandbox"
LIMITS = frozenset(
    {"nothing", "directly", "a loop that writes and flushes", "Spark's JSON reader", "msgspec, jsonschema-rs"}
)
"""Subjects that do less than anybody can: a server that only answers, the disk's own write, a bare reader."""


class Row(NamedTuple):
    """``better`` tells which way is good: ``less`` milliseconds, ``more`` records a second."""

    measure: str
    subject: str
    value: float
    unit: str
    better: Better = "less"


def ratio(row: Row, rows: list[Row]) -> float | None:
    """How many times better we are than the row's subject; None where we were not measured."""
    ours = next((other.value for other in rows if other[:2] == (row.measure, US)), None)
    if not ours or not row.value:
        return None
    return ours / row.value if row.better == "more" else row.value / ours
