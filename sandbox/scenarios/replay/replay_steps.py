"""The steps of a replay: the events of a run that are shown, with idle time and empty reads folded."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from rdss_sandbox.shapes.events import Event
from rdss_sandbox.text import figures
from sandbox.scenarios.outcome import CODES
from sandbox.scenarios.play import START
from sandbox.scenarios.scenario import INPUT
from tui.text.narration import sentence

APPLICATION: Final = "application sends"
RECEIVER: Final = "receiver"
DONE: Final = "application has it"
QUEUES: Final = {"error": "error queue", "invalid": "invalid queue"}
READ_EMPTY: Final = "receiver.read_empty"
RESHARDED: Final = "stream.resharded"
DEATHS: Final = frozenset({"receiver.crashed", "receiver.failed"})
IDLE: Final = "idle"
_IDLE_SECONDS: Final = 0.05
IDLE_SLOTS: Final = 6


@dataclass(frozen=True, slots=True)
class ReplayStep:
    """One step: an event, ``count`` empty reads in a row, or idle time.

    ``at`` is in seconds since the start of the run; ``lasts``, in seconds, is the length of idle time and of
    empty reads. ``place`` is the lane where the step is drawn, ``message`` the messageId of the whole message
    that it is about, and ``slot`` its place from left to right: a step has one slot, idle time six.
    """

    kind: str
    at: float
    slot: int
    text: str
    place: str = ""
    message: str = ""
    event: Event | None = None
    count: int = 1
    lasts: float = 0.0


def fold_events(events: Iterable[Event]) -> list[ReplayStep]:
    """The steps of a run, oldest first: one for each shown event, fewer for idle time and empty reads."""
    shown = [(event, place) for event in events if (place := _place(event)) is not None]
    wholes = _wholes(event for event, _ in shown)
    steps: list[ReplayStep] = []
    active = 0.0
    for event, place in shown:
        at = event.time - START
        if event.kind == READ_EMPTY:
            if steps and steps[-1].kind == READ_EMPTY:
                steps[-1] = _read_again(steps[-1], at)
                continue
        elif at - active > _IDLE_SECONDS:
            steps.append(_idle(steps, active, at))
        if event.kind != READ_EMPTY:
            active = max(active, at)
        name = str(event.fields.get("message_id") or "")
        text = sentence(event, CODES)
        steps.append(
            ReplayStep(event.kind, at, _next_slot(steps), text, place, wholes.get(name, name), event)
        )
    if steps and (end := steps[-1].at + steps[-1].lasts) - active > _IDLE_SECONDS:
        steps.append(_idle(steps, active, end))
    return steps


def _next_slot(steps: list[ReplayStep]) -> int:
    if not steps:
        return 1
    return steps[-1].slot + (IDLE_SLOTS if steps[-1].kind == IDLE else 1)


def _read_again(step: ReplayStep, at: float) -> ReplayStep:
    """The step of empty reads with one more of them."""
    count, lasts = step.count + 1, at - step.at
    text = f"the receiver reads {count:,} times in {figures.span(lasts)} and finds nothing"
    return replace(step, text=text, count=count, lasts=lasts)


def _idle(steps: list[ReplayStep], began: float, ended: float) -> ReplayStep:
    text = f"nothing happens for {figures.span(ended - began)}"
    return ReplayStep(IDLE, began, _next_slot(steps), text, lasts=ended - began)


def _wholes(events: Iterable[Event]) -> dict[str, str]:
    """The messageId of the whole message for each part of a sequence: the first part has it."""
    sequences: dict[str, dict[int, str]] = {}
    for event in events:
        if "sequence" in event.fields:
            parts = sequences.setdefault(event.fields["sequence"], {})
            parts[event.fields["position"]] = event.fields["message_id"]
    return {name: parts[1] for parts in sequences.values() if 1 in parts for name in parts.values()}


def _place(event: Event) -> str | None:
    """The lane of an event; None for an event that is not shown."""
    fields = event.fields
    if fields.get("channel", INPUT) != INPUT and event.kind != "fault.injected":
        return None
    match event.kind:
        case kind if kind == RESHARDED:
            return str(fields["opened"][0]) if fields["stream"] == INPUT else None
        case "queue.claim_expired" if not fields["messages"]:
            return None
        case "message.rejected":
            return QUEUES.get(fields["queue"], str(fields["queue"]))
        case kind if kind in _LANE_FIELDS:
            return str(fields[_LANE_FIELDS[kind]])
    return _LANES.get(event.kind)


_LANES: Final = {
    "message.offered": APPLICATION,
    "message.refused": APPLICATION,
    "sender.failed": APPLICATION,
    "message.delivered": RECEIVER,
    READ_EMPTY: RECEIVER,
    "queue.claimed": RECEIVER,
    "queue.claim_expired": RECEIVER,
    "claim.lost": RECEIVER,
    "delete.refused": RECEIVER,
    "receiver.started": RECEIVER,
    "receiver.crashed": RECEIVER,
    "receiver.failed": RECEIVER,
    "message.processed": DONE,
}
_LANE_FIELDS: Final = {"message.acknowledged": "shard", "fault.injected": "fault"}
