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
    seen = _Seen()
    causes: dict[int, int] = {}
    for index, step in enumerate(steps):
        if step.event is None:
            continue
        fields = step.event.fields
        find, note = _CAUSES.get(step.kind), _NOTES.get(step.kind)
        if find and (cause := find(seen, fields)) is not None:
            causes[index] = cause
        if note:
            note(seen, index, fields)
        if step.kind == "fault.injected" and fields["type"] == "reshard":
            # The fault is told after the reshards that it made.
            causes |= dict.fromkeys(_reshards_before(steps, index), index)
    return causes


def find_root(causes: Mapping[int, int], index: int) -> int:
    """The first cause of a step: the end of its chain of causes, or the step itself."""
    seen = {index}
    while (cause := causes.get(index)) is not None and cause not in seen:
        seen.add(index := cause)
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
class _Seen:
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


def _cause_of_acknowledgement(seen: _Seen, fields: _Fields) -> int | None:
    name = _name(fields)
    fault = seen.faults.get((name, "publish"))
    if name not in seen.acknowledged:
        return fault
    # What was taken is sent again because another message of its batch was not.
    return seen.refused.get(name, seen.last_refused if fault is None else fault)


def _cause_of_delivery(seen: _Seen, fields: _Fields) -> int | None:
    name = _name(fields)
    fault, copy = seen.faults.get((name, "deliver")), seen.copies.get((name, "deliver"))
    if fault is not None:
        return fault
    if _place(fields) in seen.places:
        known = [each for each in (copy, seen.death, seen.expired) if each is not None]
        return max(known, default=None)
    if name not in seen.delivered:
        return None
    made = (seen.copies.get((name, "publish")), copy)
    return next((each for each in made if each is not None), seen.refused.get(name))


def _cause_of_rejection(seen: _Seen, fields: _Fields) -> int | None:
    name = _name(fields)
    if name in seen.changes:
        return seen.changes[name]
    expired = CONTRACT.expired is not None and fields.get("code") == CONTRACT.expired
    return seen.paused if expired and seen.paused is not None else seen.offered.get(name)


def _cause_of_processing(seen: _Seen, fields: _Fields) -> int | None:
    return seen.delivered.get(_name(fields)) if _name(fields) in seen.processed else None


_CAUSES: Final[dict[str, Callable[[_Seen, _Fields], int | None]]] = {
    "message.refused": lambda seen, fields: seen.faults.get((_name(fields), "publish")),
    "message.acknowledged": _cause_of_acknowledgement,
    "message.delivered": _cause_of_delivery,
    "message.processed": _cause_of_processing,
    "message.rejected": _cause_of_rejection,
    "receiver.crashed": lambda seen, fields: seen.stopped.pop(str(fields["target"]), None),
    "receiver.started": lambda seen, _: seen.death,
    "queue.claim_expired": lambda seen, fields: seen.stopped.get(str(fields["client"])),
    "claim.lost": lambda seen, _: seen.expired,
    "delete.refused": lambda seen, _: seen.expired,
}


def _note_fault(seen: _Seen, index: int, fields: _Fields) -> None:
    type_, direction, name = str(fields["type"]), str(fields["direction"]), _name(fields)
    if type_ in _STOPS:
        seen.stopped[str(fields["data"].get("target"))] = index
        seen.paused = index if type_ == "pause" else seen.paused
    elif type_ in _CHANGES:
        seen.changes[name] = index
    elif type_ == "duplicate":
        seen.copies[name, direction] = index
    else:
        seen.faults[name, direction] = index


def _note_offer(seen: _Seen, index: int, fields: _Fields) -> None:
    seen.offered[_name(fields)] = index


def _note_refusal(seen: _Seen, index: int, fields: _Fields) -> None:
    seen.refused[_name(fields)] = seen.last_refused = index
    seen.faults.pop((_name(fields), "publish"), None)


def _note_acknowledgement(seen: _Seen, index: int, fields: _Fields) -> None:
    name = _name(fields)
    if name in seen.acknowledged:
        seen.copies[name, "publish"] = index
    seen.acknowledged[name] = index
    seen.faults.pop((name, "publish"), None)


def _note_delivery(seen: _Seen, index: int, fields: _Fields) -> None:
    seen.delivered[_name(fields)] = index
    seen.places.add(_place(fields))
    seen.faults.pop((_name(fields), "deliver"), None)


def _note_processing(seen: _Seen, _: int, fields: _Fields) -> None:
    seen.processed.add(_name(fields))


def _note_death(seen: _Seen, index: int, _: _Fields) -> None:
    seen.death = index


def _note_expiry(seen: _Seen, index: int, _: _Fields) -> None:
    seen.expired = index


_NOTES: Final[dict[str, Callable[[_Seen, int, _Fields], None]]] = {
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
