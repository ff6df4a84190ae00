"""The timeline of a run as SVG: the path of each message through the lanes, and the injected faults.

A lane is a place (the application, a shard, the receiver, a queue) or a fault. The
steps stand from left to right in their order, not at a time scale: many happen at
one instant, then none for a minute. The time is printed where it jumps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from emulator.pages.svg import circle, drawing, line, polyline, rect, text
from sandbox.scenarios.replay.first_failure import FirstFailure
from sandbox.scenarios.replay.paths import Path, find_paths
from sandbox.scenarios.replay.replay_steps import (
    APPLICATION,
    DONE,
    IDLE,
    IDLE_SLOTS,
    RECEIVER,
    RESHARDED,
    ReplayStep,
)

LANE: Final = 26
GUTTER: Final = 190
_TOP: Final = 30
_WIDTH: Final = 1060.0
_NARROWEST, _WIDEST = 2.2, 9.0


@dataclass(frozen=True, slots=True)
class TimelineDrawing:
    """What is drawn: the steps, the paths, and the lanes of places and of faults from top to bottom.

    A slot is the place of one step from left to right.
    """

    steps: Sequence[ReplayStep]
    paths: Sequence[Path]
    lanes: Sequence[str]
    faults: Sequence[str]
    slots: int
    pace: float
    """The width of a slot in pixels."""


def timeline(steps: Sequence[ReplayStep]) -> TimelineDrawing:
    """Lay out the steps of a run."""
    shards = {step.event.fields["shard"] for step in steps if step.event and "shard" in step.event.fields}
    for step in steps:
        if step.event and step.kind == RESHARDED:
            shards |= {*step.event.fields["closed"], *step.event.fields["opened"]}
    queues = dict.fromkeys(step.place for step in steps if step.kind == "message.rejected")
    faults = dict.fromkeys(step.place for step in steps if step.kind == "fault.injected")
    slots = steps[-1].slot + (IDLE_SLOTS if steps[-1].kind == IDLE else 1) if steps else 1
    pace = min(max(_WIDTH / slots, _NARROWEST), _WIDEST)
    lanes = [APPLICATION, *sorted(shards), RECEIVER, DONE, *queues]
    return TimelineDrawing(steps, find_paths(steps), lanes, [*faults], slots, pace)


@dataclass(frozen=True, slots=True)
class Drawing:
    """Two SVGs of the same height: the names of the lanes, and the events in them."""

    names: str
    picture: str


def draw(found: TimelineDrawing, lit: FirstFailure | None = None) -> Drawing:
    """Draw a timeline; ``lit`` are the steps to mark as cause and effects."""
    lanes = [*found.faults, *found.lanes]
    heights = {lane: _TOP + LANE * (at + 0.5) for at, lane in enumerate(lanes)}
    width, height = found.pace * (found.slots + 8), _TOP + LANE * len(lanes) + 8
    parts = [
        *_bands(lanes, found, width),
        *_times(found, width, height),
        *_strikes(found, heights, height),
        *_draw_paths(found, heights),
        *_draw_dots(found, heights),
        *_draw_marks(found, lit, heights),
    ]
    label = "what happened to each message"
    picture = drawing("".join(parts), round(width), height, label, id="timeline")
    return Drawing(_names(lanes, found, height), picture)


def short_name(lane: str) -> str:
    """The name of a lane for people: ``shard 2`` for ``shardId-000000000002``."""
    head, dash, number = lane.partition("shardId-")
    return f"shard {int(number)}" if dash and not head and number.isdecimal() else lane


def _names(lanes: Sequence[str], found: TimelineDrawing, height: float) -> str:
    rows = [
        text(
            short_name(lane),
            GUTTER - 10,
            _TOP + LANE * (at + 0.5) + 4,
            "fault" if lane in found.faults else "lane",
        )
        for at, lane in enumerate(lanes)
    ]
    return drawing("".join(rows), GUTTER, height, style="names")


def _bands(lanes: Sequence[str], found: TimelineDrawing, width: float) -> list[str]:
    return [
        rect("band fault" if lane in found.faults else "band", 0, _TOP + LANE * at + 1, width, LANE - 2)
        for at, lane in enumerate(lanes)
    ]


def _times(found: TimelineDrawing, width: float, height: float) -> list[str]:
    """A dotted line through all lanes for each idle time, and the time at which it ends."""
    drawn = [text("0 s", 2, 18, "time")]
    free = 40.0
    for step in found.steps:
        if step.kind != IDLE:
            continue
        x = (step.slot + IDLE_SLOTS // 2) * found.pace
        drawn.append(line("jump", x, _TOP, x, height))
        if x >= free:
            ended = f"{step.at + step.lasts:,.3f}".rstrip("0").rstrip(".") + " s"
            room = 7 * len(ended) + 12
            drawn.append(text(ended, min(x, width - room), 18, "time"))
            free = x + room
    return drawn


def _strikes(found: TimelineDrawing, heights: dict[str, float], height: float) -> list[str]:
    """A vertical line through all lanes for each injected fault."""
    return [
        line("strike", step.slot * found.pace, heights[step.place], step.slot * found.pace, height)
        for step in found.steps
        if step.kind == "fault.injected"
    ]


def _draw_paths(found: TimelineDrawing, heights: dict[str, float]) -> list[str]:
    drawn = []
    for path in found.paths:
        if len(path.stops) < 2:
            continue
        shape = "way bad" if path.rejected else "way again" if path.again else "way"
        points = [(found.steps[index].slot * found.pace, heights[lane]) for index, lane in path.stops]
        drawn.append(polyline(shape, points, message=path.message))
    return drawn


def _draw_dots(found: TimelineDrawing, heights: dict[str, float]) -> list[str]:
    again = {path.stops[1][0] for path in found.paths if path.again and len(path.stops) > 1}
    drawn = []
    for index, step in enumerate(found.steps):
        if step.kind != IDLE:
            x, y = step.slot * found.pace, heights[step.place]
            style = "again" if index in again else step.kind.partition(".")[2]
            caption = f"+{step.at:.3f} s  {step.text}"
            drawn.append(circle(f"dot {style}", x, y, _SIZES.get(style, 2.6), title=caption))
    return drawn


def _draw_marks(found: TimelineDrawing, lit: FirstFailure | None, heights: dict[str, float]) -> list[str]:
    """Rings around the cause, the step that went wrong, and the effects."""
    if lit is None:
        return []
    styles = dict.fromkeys(lit.effects, "effect") | {lit.wrong: "wrong", lit.cause: "cause"}
    return [
        circle(f"lit {style}", found.steps[index].slot * found.pace, heights[found.steps[index].place], 8)
        for index, style in sorted(styles.items())
    ]


_SIZES: Final = {"injected": 4.5, "crashed": 6, "failed": 6, "started": 4, "rejected": 3.6, "refused": 3.2}
