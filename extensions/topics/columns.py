"""Columns of topics, records and changes."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from rdss_sandbox.shapes.topics import Topic, TopicChange, TopicRecord
from rdss_sandbox.text import figures
from tui.text.columns import ListColumn

_LONGEST = 300
_IDENTIFIER = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_REASONS = {"deleted": "error", "expired": "warning", "filter": "accent", "entitlement": "error"}


def summary(data: bytes) -> str:
    """The record's scalar fields in one line, identifiers last; other JSON than an object unchanged."""
    try:
        record: Any = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return bytes(data[:_LONGEST]).decode(errors="replace")
    if not isinstance(record, dict):
        return bytes(data[:_LONGEST]).decode(errors="replace")
    scalars = [(name, value) for name, value in record.items() if not isinstance(value, dict | list)]
    scalars.sort(key=lambda field: _IDENTIFIER.fullmatch(str(field[1])) is not None)
    return " · ".join(f"{name} {value}" for name, value in scalars)[:_LONGEST]


def _reason(row: TopicChange) -> str:
    return row.reason or ""


def _tone(row: TopicChange) -> str:
    return _REASONS.get(row.reason or "", "good")


TOPIC_COLUMNS: tuple[ListColumn[Topic], ...] = (
    ListColumn("topic", 12, lambda row: row.name, worth=9, stretch=True),
    ListColumn("kind", 9, lambda row: row.kind or "-", "dim", worth=5),
    ListColumn(
        "records",
        8,
        lambda row: "" if row.records is None else figures.count(row.records),
        right=True,
        worth=8,
    ),
    ListColumn("subscribed", 10, lambda row: figures.count(row.subscriptions), right=True, worth=4),
    ListColumn("log", 3, lambda row: "yes" if row.logged else "", "dim", worth=2),
)
RECORD_COLUMNS: tuple[ListColumn[TopicRecord], ...] = (
    ListColumn("key", 8, lambda row: figures.tail(row.sow_key, 8), "dim", worth=5),
    ListColumn("record", 20, lambda row: summary(row.data), worth=9, stretch=True),
)
CHANGE_COLUMNS: tuple[ListColumn[TopicChange], ...] = (
    ListColumn("time (UTC)", 12, lambda row: figures.clock_time(row.time), "dim", worth=4),
    ListColumn("what", 7, lambda row: row.cmd, _tone, worth=8),
    ListColumn("reason", 11, _reason, _tone, worth=9),
    ListColumn("key", 8, lambda row: figures.tail(row.sow_key or "", 8), "dim", worth=6),
    ListColumn("record", 20, lambda row: summary(row.data), worth=7, stretch=True),
)
