"""The trace of a message over time, from its header and from what the sandbox observed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rdss_sandbox.files.record_lines import place_in_key
from rdss_sandbox.shapes.events import Event
from rdss_sandbox.shapes.messages import MessageDetail, MessageRead, MessageRow
from rdss_sandbox.text.event_sentences import sentence
from rdss_sandbox.text.figures import clock_time, shard
from tui.state.life import Copy, MessageLife

_FIRST = ("did", "stream", "channel", "shard", "fault", "type", "code", "bucket", "key")


@dataclass(frozen=True, slots=True)
class Hop:
    """One step of a message at ``at`` seconds since the epoch; ``tone`` is as in ``columns``."""

    at: float
    place: str
    what: str
    tone: str = ""


def trace_of(detail: MessageDetail, life: MessageLife | None = None) -> list[Hop]:
    """Every hop, oldest first: from the header, the events, and where the message was and who read it.

    Before its life is known, the message itself is the only arrival.
    """
    life = life or MessageLife((detail,))
    hops = [
        *_header(detail.header or {}),
        *map(_arrival, life.arrivals),
        *map(_event, detail.events),
        *map(_read, life.reads),
        *map(_copy, life.copies),
    ]
    if not life.known:
        last = max(row.time for row in (*life.arrivals, detail))
        hops.append(Hop(last, "read", "by whom is not known: the streams are an upstream's", "dim"))
    return sorted(hops, key=lambda hop: hop.at)


def _header(header: Mapping[str, Any]) -> Iterable[Hop]:
    timings = header.get("messageTimings")
    if isinstance(timings, dict) and (at := moment(timings.get("publishedTimestamp"))) is not None:
        yield Hop(at, "published", str(header.get("generator", "")))
    if isinstance(timings, dict) and (at := moment(timings.get("expirationTimestamp"))) is not None:
        yield Hop(at, "expires", "", "warning")
    history = header.get("messageHistory")
    for entry in history if isinstance(history, list) else ():
        if isinstance(entry, dict) and (at := moment(entry.get("timestamp"))) is not None:
            yield Hop(at, str(entry.get("machineId", "")), str(entry.get("machineAddress", "")), "accent")


def _arrival(row: MessageRow) -> Hop:
    marks = ", ".join(row.marks)
    tone = "error" if row.code else "warning" if row.marks else "good"
    what = " · ".join(part for part in (row.shard, row.code or "", marks) if part)
    return Hop(row.time, row.stream, what, tone)


def _read(read: MessageRead) -> Hop:
    since = f", later than {clock_time(read.after)}" if read.after < read.at else ""
    return Hop(read.at, f"read from {read.stream}", f"by {read.client}{since}", "primary")


def _copy(copy: Copy) -> Hop:
    source = place_in_key(copy.row.partition_key)
    of = f"copy of the record in {source.stream}, {shard(source.shard_id)}" if source else "copy"
    return Hop(copy.row.time, f"{copy.place} {copy.holder}", f"{of}; {copy.row.shard}", "good")


def _event(event: Mapping[str, Any]) -> Hop:
    kind = str(event.get("kind", ""))
    fields = {name: value for name, value in event.items() if name not in {"id", "time", "kind"}}
    tone = "warning" if kind.startswith("fault") else "error" if "reject" in kind or "error" in kind else ""
    # Beside the name of its kind, what a fault did says more than the sentence that begins with the message.
    what = describe(fields) if kind.startswith("fault") else sentence(Event(0, 0.0, kind, fields), {})
    return Hop(float(event.get("time", 0.0)), re.sub(r"[._]", " ", kind), what, tone)


def describe(fields: Mapping[str, Any]) -> str:
    """The fields of an event in a line, the most telling ones first; ``did`` is already a sentence."""
    ordered = sorted(fields, key=lambda name: _FIRST.index(name) if name in _FIRST else len(_FIRST))
    names = [name for name in ordered if fields[name] not in (None, "", [], {})]
    return ", ".join(str(fields[name]) if name == "did" else f"{name} {fields[name]}" for name in names)


def moment(text: object) -> float | None:
    """Parse RFC 3339 into seconds since the epoch; None for anything else."""
    try:
        return datetime.fromisoformat(str(text)).timestamp() if isinstance(text, str) else None
    except (ValueError, OverflowError):
        return None
