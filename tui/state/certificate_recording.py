"""A certificate as a run: its history becomes events, and each clause that was tried a line of a verdict."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any, Final, TypeAlias

import msgspec

from rdss_sandbox.shapes.certificate import Certificate, ClauseResult, ClauseVerdict
from rdss_sandbox.shapes.events import Event
from rdss_sandbox.shapes.scenarios import Line, Teaching

_INPUT: Final = "input"
_HOLDS: Final = {ClauseVerdict.PASS: True, ClauseVerdict.FAIL: False}
_Row: TypeAlias = dict[str, Any]
_Happened: TypeAlias = tuple[float, str, _Row]


def list_clause_lines(certificate: Certificate) -> tuple[Line, ...]:
    """A line for each clause that was tried: what was found, beside what it demands."""
    return tuple(
        Line(each.id, f"so: {each.demand}", _observe(each), _HOLDS.get(each.verdict))
        for each in certificate.tried
    )


def teach(certificate: Certificate) -> Teaching:
    """What the kit did, and what a failure was made small to."""
    command = shlex.join(certificate.subject["command"])
    what = f"certify tried {command} as a {certificate.role} of {certificate.channel}."
    return Teaching(happens=what, why=certificate.smallest[0].sentence if certificate.smallest else "")


def read_history(path: Path) -> tuple[Event, ...]:
    """Read the ``events.ndjson`` of a certificate as events, oldest first; times count from the start.

    Raises OSError, and ``msgspec.MsgspecError`` for what is no history.
    """
    decode = msgspec.json.Decoder(_Row).decode
    with path.open("rb") as file:
        rows = [decode(line) for line in file if line.strip()]
    try:
        happened = sorted(chain.from_iterable(map(_tell, rows)), key=lambda each: each[0])
    except (KeyError, TypeError) as error:
        raise msgspec.ValidationError(f"a line of {path.name} lacks {error}") from error
    return tuple(
        Event(number, at, kind, fields) for number, (at, kind, fields) in enumerate(happened, start=1)
    )


def _observe(clause: ClauseResult) -> str:
    if clause.evidence:
        return clause.evidence[0].said
    if clause.reason:
        return f"{clause.verdict} ({clause.reason})"
    return f"{clause.verdict}, {clause.exposure} of {clause.needed}"


def _tell(row: _Row) -> Iterator[_Happened]:
    """The events of a row of the history."""
    match row["type"]:
        case "started":
            yield row["began"], "receiver.started", {}
            yield from _tell_end(row)
        case "told":
            yield row["at"], "message.processed", {"message_id": row["message_id"]}
        case "read":
            yield from _tell_read(row)
        case "put":
            yield from _tell_put(row)
        case "iterator":
            why = f"{row['start']} of {row['shard']}" + (f": {row['error']}" if row.get("error") else "")
            yield row["at"], "iterator.wanted", {"why": why}
        case "reshard":
            shards = {"closed": row["parents"], "opened": row["children"]}
            yield row["at"], "stream.resharded", {"stream": _INPUT, **shards}
        case "injected":
            fields = {"fault": row["fault"], "type": row["fault"]}
            if row.get("message_id"):
                fields["message_id"] = row["message_id"]
            yield row["at"], "fault.injected", fields
        case "message" | "channel":
            pass  # what a tape has of them is told by the exchanges too
        case other:
            yield row["at"], f"client.{other}", {}


def _tell_end(row: _Row) -> Iterator[_Happened]:
    if row.get("ended") is None:
        return
    match row["end"]:
        case "SIGKILL" | "hung":
            yield row["ended"], "receiver.crashed", {"target": row["end"]}
        case "itself":
            yield row["ended"], "receiver.failed", {"why": f"by itself, with exit code {row['code']}"}
        case _:
            yield row["ended"], "receiver.ended", {"why": row["end"]}


def _tell_read(row: _Row) -> Iterator[_Happened]:
    if row.get("error"):
        yield row["at"], "read.refused", {"why": f"{row['shard']}: {row['error']}"}
    elif not row.get("records"):
        yield row["at"], "receiver.read_empty", {}
    for each in row.get("records", ()):
        place = {"channel": _INPUT, "shard": row["shard"], "sequence_number": each["sequence_number"]}
        yield row["at"], "message.delivered", {"message_id": each["message_id"] or "unreadable", **place}


def _tell_put(row: _Row) -> Iterator[_Happened]:
    for entry in row["entries"]:
        fields = {"channel": row["stream"], "message_id": entry["message_id"] or "unreadable"}
        if code := row.get("error") or entry.get("error"):
            yield row["at"], "message.refused", {**fields, "code": code}
        else:
            yield row["at"], "message.acknowledged", fields
