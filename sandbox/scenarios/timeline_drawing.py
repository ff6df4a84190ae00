"""The timeline of a run as SVG: the path of each message through the lanes, and the injected faults.

A lane is a place (the application, a shard, the receiver, a queue) or a fault. The
events stand from left to right in their order, not at a time scale: many happen at
one instant, then none for a minute. The time is printed where it jumps.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Final

from rdss_sandbox.shapes.events import Event
from sandbox.scenarios.play import START
from sandbox.scenarios.scenario import INPUT

LANE: Final = 26
GUTTER: Final = 190
_TOP: Final = 30
_JUMP_SECONDS: Final = 0.05
_WIDTH: Final = 1060.0
_NARROWEST, _WIDEST = 2.2, 9.0
_OFFERED, _RECEIVER, _DONE = "application sends", "receiver", "application has it"
_QUEUES: Final = {"error": "error queue", "invalid": "invalid queue"}
_JUMP_SLOTS: Final = 6


@dataclass(slots=True)
class _Way:
    """The path of a message: its stops as (slot, lane), and its CSS class."""

    stops: list[tuple[int, str]] = field(default_factory=list)
    shape: str = "way"


@dataclass(slots=True)
class Timeline:
    """The elements to draw, by slots; a slot is the place of one event from left to right."""

    lanes: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    ways: dict[str, list[_Way]] = field(default_factory=dict)
    dots: list[tuple[int, str, str, str]] = field(default_factory=list)
    jumps: list[tuple[int, float, float]] = field(default_factory=list)
    slots: int = 0


def timeline(events: Iterable[Event]) -> Timeline:
    """Lay out the events of a run."""
    drawing = Timeline()
    shards: list[str] = []
    queues: list[str] = []
    now = START
    for event in events:
        if (lane := _lane(event)) is None:
            continue
        if event.time - now > _JUMP_SECONDS:
            drawing.jumps.append((drawing.slots + _JUMP_SLOTS // 2, now - START, event.time - START))
            drawing.slots += _JUMP_SLOTS
        now = max(now, event.time)
        drawing.slots += 1
        if "shard" in event.fields and event.fields["shard"] not in shards:
            shards.append(event.fields["shard"])
        if event.kind == "message.rejected" and lane not in queues:
            queues.append(lane)
        if event.kind == "fault.injected" and lane not in drawing.faults:
            drawing.faults.append(lane)
        _place(drawing, event, lane)
    drawing.lanes = [_OFFERED, *sorted(shards), _RECEIVER, _DONE, *queues]
    return drawing


def _lane(event: Event) -> str | None:
    """The lane of an event; None for an event that is not drawn."""
    fields = event.fields
    if fields.get("channel", INPUT) != INPUT and event.kind != "fault.injected":
        return None
    if event.kind in _LANE_FIELDS:
        named = str(fields[_LANE_FIELDS[event.kind]])
        return _QUEUES.get(named, named)
    return _LANES.get(event.kind)


_LANES: Final = {
    "message.offered": _OFFERED,
    "message.refused": _OFFERED,
    "sender.failed": _OFFERED,
    "message.delivered": _RECEIVER,
    "receiver.started": _RECEIVER,
    "receiver.crashed": _RECEIVER,
    "receiver.failed": _RECEIVER,
    "message.processed": _DONE,
}
_LANE_FIELDS: Final = {
    "message.acknowledged": "shard",
    "message.rejected": "queue",
    "fault.injected": "fault",
}


def _place(drawing: Timeline, event: Event, lane: str) -> None:
    slot, name = drawing.slots, str(event.fields.get("message_id", ""))
    ways = drawing.ways.setdefault(name, []) if event.kind.startswith("message.") else []
    style = event.kind.partition(".")[2]
    match event.kind:
        case "message.offered":
            ways.append(_Way([(slot, lane)]))
        case "message.acknowledged":
            _continue(ways, 1, (slot, lane))
        case "message.delivered":
            again = any(_RECEIVER in dict(_lanes(way)) for way in ways)
            shard = str(event.fields["shard"])
            if again:
                style = "again"
                ways.append(_Way([(slot - 1, shard), (slot, lane)], "way again"))
            else:
                _continue(ways, 2, (slot, lane))
        case "message.processed":
            _continue(ways, 3, (slot, lane))
        case "message.rejected":
            _continue(ways, 3, (slot, lane))
            for way in ways:
                way.shape = "way bad"
    drawing.dots.append((slot, lane, style, _describe(event)))


def _lanes(way: _Way) -> list[tuple[str, int]]:
    return [(lane, slot) for slot, lane in way.stops]


def _continue(ways: list[_Way], least: int, stop: tuple[int, str]) -> None:
    """Append a stop to the first path of at most ``least`` stops; without one, start a copy or a part."""
    for way in ways:
        if len(way.stops) <= least:
            way.stops.append(stop)
            return
    ways.append(_Way([stop], "way again" if ways else "way"))


def _describe(event: Event) -> str:
    fields = event.fields
    about = {
        "message.refused": "code",
        "message.rejected": "code",
        "message.acknowledged": "sequence_number",
        "message.delivered": "sequence_number",
        "fault.injected": "did",
        "sender.failed": "why",
        "receiver.failed": "why",
        "receiver.crashed": "target",
    }
    more = fields.get(about.get(event.kind, ""), "")
    return f"+{event.time - START:.3f} s  {event.kind}  {fields.get('message_id') or ''}  {more}".strip()


@dataclass(frozen=True, slots=True)
class Drawing:
    """Two SVGs of the same height: the names of the lanes, and the events in them."""

    names: str
    picture: str


def draw(found: Timeline) -> Drawing:
    lanes = [*found.faults, *found.lanes]
    heights = {lane: _TOP + LANE * (at + 0.5) for at, lane in enumerate(lanes)}
    pace = min(max(_WIDTH / max(found.slots, 1), _NARROWEST), _WIDEST)
    width, height = pace * (found.slots + 8), _TOP + LANE * len(lanes) + 8
    parts = [
        *_bands(lanes, found, width),
        *_times(found, pace, height),
        *_strikes(found, pace, heights, height),
        *_draw_ways(found, pace, heights),
        *_draw_dots(found, pace, heights),
    ]
    picture = (
        f'<svg id="timeline" role="img" aria-label="what happened to each message" width="{width:.0f}" '
        f'height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}">{"".join(parts)}</svg>'
    )
    return Drawing(_names(lanes, found, height), picture)


def _names(lanes: Sequence[str], found: Timeline, height: float) -> str:
    rows = [
        f'<text class="{"fault" if lane in found.faults else "lane"}" x="{GUTTER - 10}" '
        f'y="{_TOP + LANE * (at + 0.5) + 4:.0f}">{escape(_short(lane))}</text>'
        for at, lane in enumerate(lanes)
    ]
    return f'<svg class="names" width="{GUTTER}" height="{height:.0f}">{"".join(rows)}</svg>'


def _short(lane: str) -> str:
    head, dash, number = lane.partition("shardId-")
    return f"shard {int(number)}" if dash and not head and number.isdecimal() else lane


def _bands(lanes: Sequence[str], found: Timeline, width: float) -> list[str]:
    return [
        f'<rect class="{"band fault" if lane in found.faults else "band"}" x="0" y="{_TOP + LANE * at + 1}" '
        f'width="{width:.0f}" height="{LANE - 2}"/>'
        for at, lane in enumerate(lanes)
    ]


def _times(found: Timeline, pace: float, height: float) -> list[str]:
    drawn = ['<text class="time" x="2" y="18">0 s</text>']
    free = 40.0
    for slot, _, after in found.jumps:
        x = slot * pace
        drawn.append(f'<line class="jump" x1="{x:.1f}" y1="{_TOP}" x2="{x:.1f}" y2="{height:.0f}"/>')
        if x >= free:
            text = f"{after:,.3f}".rstrip("0").rstrip(".") + " s"
            drawn.append(f'<text class="time" x="{x:.1f}" y="18">{text}</text>')
            free = x + 7 * len(text) + 12
    return drawn


def _strikes(found: Timeline, pace: float, heights: dict[str, float], height: float) -> list[str]:
    """A vertical line through all lanes for each injected fault."""
    return [
        f'<line class="strike" x1="{slot * pace:.1f}" y1="{heights[lane]:.0f}" '
        f'x2="{slot * pace:.1f}" y2="{height:.0f}"/>'
        for slot, lane, style, _ in found.dots
        if style == "injected"
    ]


def _draw_ways(found: Timeline, pace: float, heights: dict[str, float]) -> list[str]:
    drawn = []
    for name, ways in found.ways.items():
        for way in ways:
            points = " ".join(f"{slot * pace:.1f},{heights[lane]:.0f}" for slot, lane in way.stops)
            if len(way.stops) > 1:
                title = f"<title>{escape(name)}</title>"
                drawn.append(f'<polyline class="{way.shape}" points="{points}">{title}</polyline>')
    return drawn


def _draw_dots(found: Timeline, pace: float, heights: dict[str, float]) -> list[str]:
    return [
        f'<circle class="dot {style}" cx="{slot * pace:.1f}" cy="{heights[lane]:.0f}" '
        f'r="{_SIZES.get(style, 2.6)}"><title>{escape(said)}</title></circle>'
        for slot, lane, style, said in found.dots
    ]


_SIZES: Final = {"injected": 4.5, "crashed": 6, "failed": 6, "started": 4, "rejected": 3.6, "refused": 3.2}
