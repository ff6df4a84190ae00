"""What caused what in a run: each step's cause, found from messageIds, processes, claims and order.

```text
fault ─▶ refusal, copy, delay, rejection      by the messageId
fault ─▶ reshard                              by the order
fault ─▶ death ─▶ next start                  by the process
death, expired claim, copy ─▶ message again ─▶ message processed again
```
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from sandbox.scenarios.replay.replay_steps import RESHARDED, ReplayStep
from schemas.bound import CONTRACT

_Fields: TypeAlias = Mapping[str, Any]
_STOPS: Final = {"kill", "pause"}
_CHANGES: Final = {"oversize", "mutate", "corrupt"}


def link_causes(steps: Sequence[ReplayStep]) -> dict[int, int]:
    """The index of the cause of each step that has one in the run, by the index of the step."""
    progress = _Progress()
    causes: dict[int, int] = {}
    for index, step in enumerate(steps):
        if step.event is None:
            continue
        fields = step.event.fields
        find, note = _CAUSES.get(step.kind), _NOTES.get(step.kind)
        if find and (cause := find(progress, fields)) is not None:
            causes[index] = cause
        if note:
            note(progress, index, fields)
        if step.kind == "fault.injected" and fields["type"] == "reshard":
            # The fault is told after the reshards that it made.
            causes |= dict.fromkeys(_reshards_before(steps, index), index)
    return causes


def find_root(causes: Mapping[int, int], index: int) -> int:
    """The first cause of a step: the end of its chain of causes, or the step itself."""
    steps_passed = {index}
    while (cause := causes.get(index)) is not None and cause not in steps_passed:
        steps_passed.add(index := cause)
    return index


def find_effects(causes: Mapping[int, int], root: int) -> list[int]:
    """The steps that a step caused, directly or through others, in order."""
    return [index for index in sorted(causes) if index != root and find_root(causes, index) == root]


def _reshards_before(steps: Sequence[ReplayStep], index: int) -> list[int]:
    first = index
    while first and steps[first - 1].kind == RESHARDED:
        first -= 1
    return list(range(first, index))


@dataclass(slots=True)
class _Progress:
    """What happened so far, as indexes of steps; ``name`` is always the messageId of a message or part."""

    faults: dict[tuple[str, str], int] = field(default_factory=dict)
    """The last fault for (name, direction) that nothing followed yet."""
    changes: dict[str, int] = field(default_factory=dict)
    copies: dict[tuple[str, str], int] = field(default_factory=dict)
    """What made a further copy of a message, by (name, direction)."""
    stopped: dict[str, int] = field(default_factory=dict)
    """The last fault that stopped a process, by its name."""
    offered: dict[str, int] = field(default_factory=dict)
    refused: dict[str, int] = field(default_factory=dict)
    acknowledged: dict[str, int] = field(default_factory=dict)
    delivered: dict[str, int] = field(default_factory=dict)
    places: set[tuple[str, str]] = field(default_factory=set)
    processed: set[str] = field(default_factory=set)
    last_refused: int | None = None
    death: int | None = None
    expired: int | None = None
    paused: int | None = None


def _name(fields: _Fields) -> str:
    return str(fields.get("message_id"))


def _place(fields: _Fields) -> tuple[str, str]:
    return str(fields["shard"]), str(fields["sequence_number"])


def _cause_of_acknowledgement(progress: _Progress, fields: _Fields) -> int | None:
    name = _name(fields)
    fault = progress.faults.get((name, "publish"))
    if name not in progress.acknowledged:
        return fault
    # What was taken is sent again because another message of its batch was not.
    return progress.refused.get(name, progress.last_refused if fault is None else fault)


def _cause_of_delivery(progress: _Progress, fields: _Fields) -> int | None:
    name = _name(fields)
    fault, copy = progress.faults.get((name, "deliver")), progress.copies.get((name, "deliver"))
    if fault is not None:
        return fault
    if _place(fields) in progress.places:
        known = [each for each in (copy, progress.death, progress.expired) if each is not None]
        return max(known, default=None)
    if name not in progress.delivered:
        return None
    made = (progress.copies.get((name, "publish")), copy)
    return next((each for each in made if each is not None), progress.refused.get(name))


def _cause_of_rejection(progress: _Progress, fields: _Fields) -> int | None:
    name = _name(fields)
    if name in progress.changes:
        return progress.changes[name]
    expired = CONTRACT.expired is not None and fields.get("code") == CONTRACT.expired
    return progress.paused if expired and progress.paused is not None else progress.offered.get(name)


def _cause_of_processing(progress: _Progress, fields: _Fields) -> int | None:
    return progress.delivered.get(_name(fields)) if _name(fields) in progress.processed else None


_CAUSES: Final[dict[str, Callable[[_Progress, _Fields], int | None]]] = {
    "message.refused": lambda progress, fields: progress.faults.get((_name(fields), "publish")),
    "message.acknowledged": _cause_of_acknowledgement,
    "message.delivered": _cause_of_delivery,
    "message.processed": _cause_of_processing,
    "message.rejected": _cause_of_rejection,
    "receiver.crashed": lambda progress, fields: progress.stopped.pop(str(fields["target"]), None),
    "receiver.started": lambda progress, _: progress.death,
    "queue.claim_expired": lambda progress, fields: progress.stopped.get(str(fields["client"])),
    "claim.lost": lambda progress, _: progress.expired,
    "delete.refused": lambda progress, _: progress.expired,
}


def _note_fault(progress: _Progress, index: int, fields: _Fields) -> None:
    type_, direction, name = str(fields["type"]), str(fields["direction"]), _name(fields)
    if type_ in _STOPS:
        progress.stopped[str(fields["data"].get("target"))] = index
        progress.paused = index if type_ == "pause" else progress.paused
    elif type_ in _CHANGES:
        progress.changes[name] = index
    elif type_ == "duplicate":
        progress.copies[name, direction] = index
    else:
        progress.faults[name, direction] = index


def _note_offer(progress: _Progress, index: int, fields: _Fields) -> None:
    progress.offered[_name(fields)] = index


def _note_refusal(progress: _Progress, index: int, fields: _Fields) -> None:
    progress.refused[_name(fields)] = progress.last_refused = index
    progress.faults.pop((_name(fields), "publish"), None)


def _note_acknowledgement(progress: _Progress, index: int, fields: _Fields) -> None:
    name = _name(fields)
    if name in progress.acknowledged:
        progress.copies[name, "publish"] = index
    progress.acknowledged[name] = index
    progress.faults.pop((name, "publish"), None)


def _note_delivery(progress: _Progress, index: int, fields: _Fields) -> None:
    progress.delivered[_name(fields)] = index
    progress.places.add(_place(fields))
    progress.faults.pop((_name(fields), "deliver"), None)


def _note_processing(progress: _Progress, _: int, fields: _Fields) -> None:
    progress.processed.add(_name(fields))


def _note_death(progress: _Progress, index: int, _: _Fields) -> None:
    progress.death = index


def _note_expiry(progress: _Progress, index: int, _: _Fields) -> None:
    progress.expired = index


_NOTES: Final[dict[str, Callable[[_Progress, int, _Fields], None]]] = {
    "fault.injected": _note_fault,
    "message.offered": _note_offer,
    "message.refused": _note_refusal,
    "message.acknowledged": _note_acknowledgement,
    "message.delivered": _note_delivery,
    "message.processed": _note_processing,
    "queue.claim_expired": _note_expiry,
    "receiver.crashed": _note_death,
    "receiver.failed": _note_death,
}
