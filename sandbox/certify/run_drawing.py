"""A run as a picture: lanes for the client's starts, for each shard, and for what it told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from html import escape
from typing import Final, NamedTuple, TypeAlias

from rdss_sandbox.shapes.trace import Put, Read
from sandbox.certify.history import History

_WIDTH: Final = 1000
_LEFT: Final = 190
_RIGHT: Final = 990
_LANE: Final = 22
_MOST_DOTS: Final = 3000
_Across: TypeAlias = Callable[[float], float]


class _Dot(NamedTuple):
    at: float
    lane: str
    style: str
    said: str


def draw_run(history: History) -> str:
    """The section of a page with the picture, an SVG that stands alone."""
    end = max([1.0, *(each.at for each in history.exchanges), *(each.at for each in history.told)])
    middle = [shard.id for shard in history.shards] if history.reads() else ["puts"]
    lanes = {name: (at + 1) * _LANE for at, name in enumerate(["starts", *middle, "told"])}
    height = (len(lanes) + 1) * _LANE

    def across(at: float) -> float:
        return round(_LEFT + at / end * (_RIGHT - _LEFT), 1)

    drawn = "".join(
        (*_lanes(lanes), *_stages(history, across, height), *_starts(history, across, end, lanes["starts"]))
    )
    dots = "".join(_dots(history, lanes, across))
    return (
        "<section><h2>The run</h2><p>From left to right as it happened; a vertical line begins a stage. "
        f'Point at a mark to see what it is.</p><svg viewBox="0 0 {_WIDTH} {height}" role="img" '
        f'aria-label="the run, {end:.0f} seconds">{drawn}{dots}</svg></section>'
    )


def _lanes(lanes: dict[str, int]) -> Iterator[str]:
    for name, y in lanes.items():
        yield f'<line class=lane x1="{_LEFT}" x2="{_RIGHT}" y1="{y}" y2="{y}"/>'
        yield f'<text x="0" y="{y + 4}">{escape(name)}</text>'


def _stages(history: History, across: _Across, height: int) -> Iterator[str]:
    for at, name, _ in history.stages:
        x = across(at)
        title = f"<title>{escape(name)}</title>"
        yield f'<line class=mark x1="{x}" x2="{x}" y1="8" y2="{height - 8}">{title}</line>'


def _starts(history: History, across: _Across, end: float, y: int) -> Iterator[str]:
    for life in history.lives:
        said = f"start {life.number + 1}, {life.end or 'running'}"
        yield (
            f'<line class=start x1="{across(life.began)}" x2="{across(life.ended or end)}" y1="{y}" y2="{y}">'
            f"<title>{escape(said)}</title></line>"
        )


def _dots(history: History, lanes: dict[str, int], across: _Across) -> Iterator[str]:
    dots = [*_exchange_dots(history, lanes)]
    dots += [_Dot(each.at, "told", "told", each.message_id) for each in history.told]
    for dot in dots[:_MOST_DOTS]:
        title = f"<title>{dot.at:.2f} s: {escape(dot.said)}</title>"
        yield f'<circle class={dot.style} cx="{across(dot.at)}" cy="{lanes[dot.lane]}" r="4">{title}</circle>'
    if len(dots) > _MOST_DOTS:
        yield f'<text x="{_LEFT}" y="{_LANE // 2}">and {len(dots) - _MOST_DOTS:,} more</text>'


def _exchange_dots(history: History, lanes: dict[str, int]) -> Iterator[_Dot]:
    for each in history.exchanges:
        if isinstance(each, Read) and each.shard in lanes and (each.records or each.error):
            said = each.error or f"{len(each.records)} records"
            yield _Dot(each.at, each.shard, "bad" if each.error else "read", said)
        elif isinstance(each, Put) and "puts" in lanes:
            failed = each.error or next((entry.error for entry in each.entries if entry.error), "")
            yield _Dot(each.at, "puts", "bad" if failed else "read", failed or f"{len(each.entries)} records")
