"""The paths of messages: where each copy and each part of a message is, step by step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sandbox.scenarios.replay.replay_steps import DEATHS, RECEIVER, ReplayStep


@dataclass(slots=True)
class Path:
    """The path of one copy or part of ``message``: its stops as (index of the step, lane).

    ``again`` says that it is a further copy or delivery; ``rejected`` that it ends in a queue.
    """

    message: str
    stops: list[tuple[int, str]] = field(default_factory=list)
    again: bool = False
    rejected: bool = False

    @property
    def lanes(self) -> list[str]:
        return [lane for _, lane in self.stops]


def find_paths(steps: Sequence[ReplayStep]) -> list[Path]:
    """The paths of all messages, in the order in which they begin."""
    by_name: dict[str, list[Path]] = {}
    found: list[Path] = []
    died = -1
    for index, step in enumerate(steps):
        if step.kind in DEATHS:
            died = index
        if step.event is None or not step.kind.startswith("message."):
            continue
        name = str(step.event.fields["message_id"])
        paths = by_name.setdefault(name, [])
        before = len(paths)
        _follow(paths, index, step, died)
        found += paths[before:]
    return found


def _follow(paths: list[Path], index: int, step: ReplayStep, died: int) -> None:
    """Continue a path of the message with the step, or begin another one.

    ``died`` is the index of the receiver's last death, -1 before the first.
    """
    assert step.event is not None
    fields, stop = step.event.fields, (index, step.place)
    match step.kind:
        case "message.offered":
            paths.append(Path(step.message, [stop]))
        case "message.acknowledged":
            _continue(paths, 1, step, stop)
        case "message.delivered":
            copy = next((path for path in paths if path.again and path.lanes == [fields["shard"]]), None)
            if copy:
                copy.stops.append(stop)
            elif any(RECEIVER in path.lanes for path in paths):
                paths.append(Path(step.message, [(index - 1, fields["shard"]), stop], again=True))
            else:
                _continue(paths, 2, step, stop)
        case "message.processed":
            _finish(paths, step, stop, died)
        case "message.rejected":
            _finish(paths, step, stop, died)
            for path in paths:
                path.rejected = True


def _continue(paths: list[Path], most: int, step: ReplayStep, stop: tuple[int, str]) -> None:
    """Append a stop to the first path of at most ``most`` stops; without one, begin a copy or a part."""
    for path in paths:
        if len(path.stops) <= most and not path.again:
            path.stops.append(stop)
            return
    paths.append(Path(step.message, [stop], again=bool(paths)))


def _finish(paths: list[Path], step: ReplayStep, stop: tuple[int, str], died: int) -> None:
    """Append the last stop to the copy that the receiver worked on: the first since its last death."""
    held = [path for path in paths if path.lanes[-1] == RECEIVER]
    if held:
        next((path for path in held if path.stops[-1][0] > died), held[-1]).stops.append(stop)
    else:
        _continue(paths, 3, step, stop)
