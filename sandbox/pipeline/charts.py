"""Charts as SVG text: bars over time, lines over time, bars by name. No script, no asset from elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

_WIDTH, _HEIGHT, _LEFT, _BELOW = 720, 180, 52, 22
_PLOT_WIDTH, _PLOT_HEIGHT = _WIDTH - _LEFT - 8, _HEIGHT - _BELOW - 8


def draw_stacked_bars(labels: Sequence[str], series: Mapping[str, Sequence[int]]) -> str:
    """Draw stacked bars over time; each bar has its numbers as a tooltip."""
    totals = [sum(values) for values in zip(*series.values(), strict=True)]
    top = max([*totals, 1])
    step = _PLOT_WIDTH / max(len(labels), 1)
    bars = []
    for at, label in enumerate(labels):
        height = 0.0
        for name, values in series.items():
            tall = values[at] / top * _PLOT_HEIGHT
            height += tall
            if tall:
                bars.append(
                    f'<rect class="{escape(name)}" x="{_LEFT + at * step:.1f}" y="{_base() - height:.1f}" '
                    f'width="{max(step - 1, 0.5):.1f}" height="{tall:.1f}">'
                    f"<title>{escape(label)}: {values[at]:,} {escape(name)}</title></rect>"
                )
    return _svg(_axes(labels, top, "") + "".join(bars))


def draw_lines(labels: Sequence[str], series: Mapping[str, Sequence[int | None]], unit: str) -> str:
    """Draw lines over time; a missing value has no point."""
    top = max([value for values in series.values() for value in values if value is not None], default=1) or 1
    step = _PLOT_WIDTH / max(len(labels), 1)
    drawn = []
    for name, values in series.items():
        points = [
            (_LEFT + (at + 0.5) * step, _base() - value / top * _PLOT_HEIGHT, value)
            for at, value in enumerate(values)
            if value is not None
        ]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in points)
        drawn.append(f'<polyline class="{escape(name)}" points="{path}"/>')
        drawn += [
            f'<circle class="{escape(name)}" cx="{x:.1f}" cy="{y:.1f}" r="2.5">'
            f"<title>{escape(name)}: {value:,} {escape(unit)}</title></circle>"
            for x, y, value in points
        ]
    return _svg(_axes(labels, top, unit) + "".join(drawn))


def draw_bars(counts: Mapping[str, int]) -> str:
    """Draw one horizontal bar for each name, with its number."""
    top = max([*counts.values(), 1])
    tall = 24
    rows = []
    for at, (name, count) in enumerate(counts.items()):
        y, wide = at * tall, count / top * 480
        rows.append(
            f'<text x="0" y="{y + 16}">{escape(name)}</text>'
            f'<rect class="rejects" x="130" y="{y + 4}" width="{wide:.1f}" height="{tall - 8}"/>'
            f'<text x="{wide + 136:.1f}" y="{y + 16}">{count:,}</text>'
        )
    return _svg("".join(rows), tall * len(counts) + 4)


def _base() -> int:
    return _HEIGHT - _BELOW


def _axes(labels: Sequence[str], top: int, unit: str) -> str:
    marks = [
        f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - 8}" y1="{y:.1f}" y2="{y:.1f}"/>'
        f'<text class="scale" x="{_LEFT - 6}" y="{y + 4:.1f}">{short(round(top * share))}{unit}</text>'
        for share in (0.0, 0.5, 1.0)
        for y in (_base() - share * _PLOT_HEIGHT,)
    ]
    if labels:
        marks.append(f'<text x="{_LEFT}" y="{_HEIGHT - 6}">{escape(labels[0])}</text>')
    if len(labels) > 1:
        marks.append(f'<text class="scale" x="{_WIDTH - 8}" y="{_HEIGHT - 6}">{escape(labels[-1])}</text>')
    return "".join(marks)


def short(number: int) -> str:
    """A number in a few characters: 950, 12k, 3.4M."""
    for limit, unit in ((1_000_000, "M"), (1_000, "k")):
        if number >= limit:
            return f"{number / limit:.3g}{unit}"
    return str(number)


def _svg(content: str, height: int = _HEIGHT) -> str:
    return f'<svg viewBox="0 0 {_WIDTH} {height}" role="img">{content}</svg>'
