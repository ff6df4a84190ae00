"""Columns of asynchronous messages and external systems; the history of a message as hops."""

from __future__ import annotations

from collections.abc import Iterable

from rdss_sandbox.shapes.processing import AsyncMessage, AsyncMessageDetail, OutsideCall, OutsideSystem
from rdss_sandbox.text import figures
from tui.text.columns import ListColumn
from tui.text.message_trace import Hop

_TONES = {
    "OK": "good",
    "FAILED": "error",
    "FAILED_END": "error",
    "PARTLY_FAILED": "warning",
    "POSTPONED": "warning",
    "CANCEL": "dim",
    "SKIPPED": "dim",
    "PROCESSING": "accent",
}


def _tone(row: AsyncMessage) -> str:
    return _TONES.get(row.state, "")


def _object(row: AsyncMessage) -> str:
    return " ".join(each for each in (row.entity_type, row.object_id) if each)


def history_of(found: AsyncMessageDetail) -> list[Hop]:
    """The changes of state and the calls of a message, oldest first."""
    changes = [
        Hop(
            change.time,
            change.after,
            ", ".join(each for each in (change.cause, change.why) if each),
            _TONES.get(change.after, ""),
        )
        for change in found.changes
    ]
    return sorted([*changes, *_calls(found.calls)], key=lambda hop: hop.at)


def _calls(calls: Iterable[OutsideCall]) -> Iterable[Hop]:
    for call in calls:
        tries = f", {call.failed} failed before" if call.failed else ""
        again = f", again at {figures.clock_time(call.due)}" if call.due and call.state == "FAILED" else ""
        why = f": {call.description}" if call.description else ""
        what = f"{call.operation} {call.state}{tries}{again}{why}"
        yield Hop(call.changed, "  call", what, _TONES.get(call.state, ""))


MESSAGE_COLUMNS: tuple[ListColumn[AsyncMessage], ...] = (
    ListColumn("number", 7, lambda row: figures.count(row.number), "dim", right=True, worth=7),
    ListColumn("received", 12, lambda row: figures.clock_time(row.received), "dim", worth=5),
    ListColumn("state", 15, lambda row: row.state, _tone, worth=9),
    ListColumn("failed", 6, lambda row: f"{row.failed} x" if row.failed else "", _tone, right=True, worth=6),
    ListColumn("of", 7, lambda row: str(row.parent or ""), "dim", right=True, worth=2),
    ListColumn("operation", 18, lambda row: f"{row.service}.{row.operation}", worth=8),
    ListColumn("source", 8, lambda row: row.source, "dim", worth=4),
    ListColumn("object", 12, _object, worth=3),
    ListColumn("why", 12, lambda row: row.description or "", _tone, worth=6, stretch=True),
)
SYSTEM_COLUMNS: tuple[ListColumn[OutsideSystem], ...] = (
    ListColumn("outside system", 14, lambda row: row.name, worth=9),
    ListColumn("called", 7, lambda row: figures.count(row.received), right=True, worth=7),
    ListColumn("answers next", 12, lambda row: ", ".join(row.script) or "ok", worth=8, stretch=True),
)
