"""The JSON from which a page plays a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from sandbox.scenarios.outcome import Run
from sandbox.scenarios.replay.first_failure import FirstFailure
from sandbox.scenarios.replay.paths import Path
from sandbox.scenarios.replay.replay_steps import APPLICATION, DONE, QUEUES, RECEIVER, RESHARDED, ReplayStep
from sandbox.scenarios.timeline_drawing import TimelineDrawing, short_name

_STRIKES: Final = {"publish": "publish", "deliver": "deliver", "reshard": "shards"}
_FATES: Final = {
    "lost": "It is lost: the application never had it, and no queue has it.",
    "twice": "It was processed more than once.",
    "altered": "It was processed with another body than the one that was sent.",
    "misjudged": "It ended where it does not belong.",
}


class PicturedShard(msgspec.Struct):
    """A shard in the picture. ``opened`` and ``closed`` are indexes of steps; both may be absent."""

    id: str
    name: str
    parents: tuple[str, ...] = ()
    opened: int | None = None
    closed: int | None = None


def build_replay_data(run: Run, found: TimelineDrawing, lit: FirstFailure | None) -> dict[str, Any]:
    """The steps, messages, paths and shards of a run, and the steps to light.

    A step is ``[kind, at, slot, text, message, strike]``: ``message`` is an index into ``messages`` or -1,
    ``strike`` the place where a fault strikes. A path is ``[message, style, step, place, step, place ...]``.
    """
    names = dict.fromkeys(step.message for step in found.steps if step.message)
    numbers = {name: number for number, name in enumerate(names)}
    shards = find_shards(found.steps, [lane for lane in found.lanes if lane not in _PLACES])
    places = [APPLICATION, *(shard.id for shard in shards), RECEIVER, DONE, *QUEUES.values()]
    return {
        "verdict": run.judgement.verdict.value,
        "slots": found.slots,
        "pace": found.pace,
        "steps": [_step(step, numbers) for step in found.steps],
        "messages": [{"id": name, "fate": _fate(run, name)} for name in names],
        "paths": [_path(path, numbers, places) for path in found.paths],
        "places": places,
        "shards": [msgspec.to_builtins(shard) for shard in shards],
        "queues": [lane for lane in found.lanes if lane in QUEUES.values()],
        "lit": None if lit is None else msgspec.to_builtins(lit),
    }


_PLACES: Final = {APPLICATION, RECEIVER, DONE, *QUEUES.values()}


def find_shards(steps: Sequence[ReplayStep], shard_ids: Sequence[str]) -> list[PicturedShard]:
    """The shards of a run from top to bottom: children stand below the last of their parents."""
    shards = {name: PicturedShard(name, short_name(name)) for name in shard_ids}
    born = {
        each
        for step in steps
        if step.event and step.kind == RESHARDED
        for each in step.event.fields["opened"]
    }
    order = [name for name in shard_ids if name not in born]
    for index, step in enumerate(steps):
        if step.kind != RESHARDED or step.event is None:
            continue
        closed, opened = step.event.fields["closed"], step.event.fields["opened"]
        for parent in closed:
            shards[parent].closed = index
        below = max((order.index(parent) for parent in closed if parent in order), default=len(order) - 1)
        for place, child in enumerate(opened, start=below + 1):
            order.insert(place, child)
            shards[child].opened, shards[child].parents = index, tuple(closed)
    return [shards[name] for name in order]


def _step(step: ReplayStep, numbers: dict[str, int]) -> list[Any]:
    strike = ""
    if step.event is not None and step.kind == "fault.injected":
        fields = step.event.fields
        strike = _STRIKES.get(fields["type"]) or _STRIKES.get(fields["direction"], "receiver")
    text = step.text[:1].upper() + step.text[1:]
    return [step.kind, round(step.at, 3), step.slot, text, numbers.get(step.message, -1), strike]


def _path(path: Path, numbers: dict[str, int], places: list[str]) -> list[Any]:
    style = "bad" if path.rejected else "again" if path.again else ""
    stops = (each for index, lane in path.stops for each in (index, places.index(lane)))
    return [numbers[path.message], style, *stops]


def _fate(run: Run, name: str) -> str:
    """What became of a message that a fact of the contract is about; empty for all others."""
    return " ".join(fate for fact, fate in _FATES.items() if name in run.culprits.get(fact, ()))
