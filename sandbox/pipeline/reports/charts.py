"""Charts as SVG text: bars and lines over time, bars by name, spans.

A time is in seconds since the epoch and shown in UTC. An axis of values ends at a round number above the
largest value, so nothing is cut off.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from emulator.pages.svg import circle, drawing, line, polyline, rect, text

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _BELOW, _ABOVE = 720, 190, 64, 12, 22, 12
_PLOT_WIDTH, _PLOT_HEIGHT = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _BELOW - _ABOVE
_BASE = _HEIGHT - _BELOW
_ROW = 24
_NAMES = 150

Spelled = Callable[[float], str]


@dataclass(frozen=True)
class Axis:
    """The axis of time: intervals of ``seconds`` that begin at ``starts``."""

    starts: Sequence[float]
    seconds: float

    @property
    def step(self) -> float:
        """The width of an interval in the chart."""
        return _PLOT_WIDTH / max(len(self.starts), 1)

    def label(self, start: float) -> str:
        """A time as short as tells it apart: the date, the time of day, or both."""
        at = datetime.fromtimestamp(start, UTC)
        if self.seconds >= 86_400:
            return f"{at:%Y-%m-%d}"
        day = "" if self.starts[-1] - self.starts[0] < 86_400 else f"{at:%m-%d} "
        return f"{day}{at:%H:%M:%S}" if self.seconds < 60 else f"{day}{at:%H:%M}"


def draw_stacked_bars(
    axis: Axis, series: Mapping[str, Sequence[float]], spelled: Spelled | None = None
) -> str:
    """Draw stacked bars over time; each bar has its numbers as a tooltip."""
    spelled = spelled or short
    top = round_up(max((sum(values) for values in zip(*series.values(), strict=True)), default=0))
    bars = []
    for at, start in enumerate(axis.starts):
        height = 0.0
        for name, values in series.items():
            tall = values[at] / top * _PLOT_HEIGHT
            height += tall
            if tall:
                caption = f"{axis.label(start)}: {spelled(values[at])} {name}"
                x, wide = _LEFT + at * axis.step, max(axis.step - 1, 0.5)
                bars.append(rect(name, x, _BASE - height, wide, tall, title=caption))
    return drawing(_axes(axis, top, spelled) + "".join(bars), _WIDTH, _HEIGHT)


def draw_lines(
    axis: Axis, series: Mapping[str, Sequence[float | None]], spelled: Spelled | None = None
) -> str:
    """Draw lines over time; a missing value has no point, and ends its line."""
    spelled = spelled or short
    top = round_up(max((v for values in series.values() for v in values if v is not None), default=0))
    drawn = []
    for name, values in series.items():
        points = [
            None if value is None
            else (_LEFT + (at + 0.5) * axis.step, _BASE - value / top * _PLOT_HEIGHT, start, value)
            for at, (start, value) in enumerate(zip(axis.starts, values, strict=True))
        ]  # fmt: skip
        drawn += [polyline(name, [(x, y) for x, y, *_ in run]) for run in _runs(points)]
        drawn += [
            circle(name, x, y, 2.5, title=f"{axis.label(start)}: {name} {spelled(value)}")
            for x, y, start, value in filter(None, points)
        ]
    return drawing(_axes(axis, top, spelled) + "".join(drawn), _WIDTH, _HEIGHT)


def draw_bars(values: Mapping[str, float], spelled: Spelled | None = None, style: str = "rejects") -> str:
    """Draw one horizontal bar for each name, with its number."""
    spelled = spelled or (lambda number: f"{number:,.0f}")
    top = max([*values.values(), 1])
    rows = []
    for at, (name, value) in enumerate(values.items()):
        y, wide = at * _ROW, value / top * (_WIDTH - _NAMES - 90)
        rows.append(text(name, 0, y + 16) + rect(style, _NAMES, y + 4, wide, _ROW - 8))
        rows.append(text(spelled(value), _NAMES + wide + 6, y + 16))
    return drawing("".join(rows), _WIDTH, _ROW * len(values) + 4)


@dataclass(frozen=True)
class Span:
    """A bar from one time to another; ``style`` is its class, ``told`` its tooltip."""

    name: str
    style: str
    first: float
    last: float
    told: str


def draw_spans(spans: Sequence[Span]) -> str:
    """Draw each span as a row on one axis of time, from the first start to the last end."""
    low, high = min(span.first for span in spans), max(span.last for span in spans)
    passed = max(high - low, 0.001)
    rows = []
    for at, span in enumerate(spans):
        x = _NAMES + (span.first - low) / passed * (_WIDTH - _NAMES - _RIGHT)
        wide = max((span.last - span.first) / passed * (_WIDTH - _NAMES - _RIGHT), 2)
        rows.append(text(span.name, 0, at * _ROW + 16))
        rows.append(
            rect(span.style, min(x, _WIDTH - _RIGHT - 2), at * _ROW + 4, wide, _ROW - 8, title=span.told)
        )
    below = _ROW * len(spans) + 16
    axis = Axis((low, high), 1)
    rows += [text(axis.label(low), _NAMES, below), text(axis.label(high), _WIDTH - _RIGHT, below, "scale")]
    return drawing("".join(rows), _WIDTH, below + 6)


def _runs(points: Sequence[tuple[float, ...] | None]) -> list[list[tuple[float, ...]]]:
    """The points that follow each other without a gap."""
    runs: list[list[tuple[float, ...]]] = [[]]
    for point in points:
        if point is None:
            runs.append([])
        else:
            runs[-1].append(point)
    return [run for run in runs if run]


def _axes(axis: Axis, top: float, spelled: Spelled) -> str:
    marks = [
        line("grid", _LEFT, y, _WIDTH - _RIGHT, y) + text(spelled(top * share), _LEFT - 6, y + 4, "scale")
        for share in (0.0, 0.5, 1.0)
        for y in (_BASE - share * _PLOT_HEIGHT,)
    ]
    if axis.starts:
        marks.append(text(axis.label(axis.starts[0]), _LEFT, _HEIGHT - 6))
    if len(axis.starts) > 1:
        marks.append(text(axis.label(axis.starts[-1]), _WIDTH - _RIGHT, _HEIGHT - 6, "scale"))
    return "".join(marks)


def round_up(number: float) -> float:
    """The smallest of 1, 2, 5, 10, 20 ... that is not below a number."""
    power = 1.0
    while power < number:
        for step in (2, 5, 10):
            if power * step >= number:
                return power * step
        power *= 10
    return power


def short(number: float) -> str:
    """A number in a few characters: 0.5, 950, 12k, 3.4M."""
    for limit, unit in ((1_000_000, "M"), (1_000, "k")):
        if number >= limit:
            return f"{number / limit:.3g}{unit}"
    return f"{number:.3g}"


def duration(milliseconds: float) -> str:
    """Milliseconds in a few characters, in the unit that suits: 250 ms, 1.5 s, 20 min, 3 h, 4.5 d."""
    units = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"))
    for size, unit in units:
        if milliseconds >= size:
            return f"{milliseconds / size:.3g} {unit}"
    return f"{milliseconds:.3g} ms"
