"""A run as a picture: lanes for the client's starts, for each shard, and for what it told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple, TypeAlias

from emulator.pages.svg import circle, drawing, line, text
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
        "Point at a mark to see what it is.</p>"
        f"{drawing(drawn + dots, _WIDTH, height, f'the run, {end:.0f} seconds')}</section>"
    )


def _lanes(lanes: dict[str, int]) -> Iterator[str]:
    for name, y in lanes.items():
        yield line("lane", _LEFT, y, _RIGHT, y)
        yield text(name, 0, y + 4)


def _stages(history: History, across: _Across, height: int) -> Iterator[str]:
    for at, name, _ in history.stages:
        yield line("mark", across(at), 8, across(at), height - 8, title=name)


def _starts(history: History, across: _Across, end: float, y: int) -> Iterator[str]:
    for life in history.lives:
        caption = f"start {life.number + 1}, {life.end or 'running'}"
        yield line("start", across(life.began), y, across(life.ended or end), y, title=caption)


def _dots(history: History, lanes: dict[str, int], across: _Across) -> Iterator[str]:
    dots = [*_exchange_dots(history, lanes)]
    dots += [_Dot(each.at, "told", "told", each.message_id) for each in history.told]
    for dot in dots[:_MOST_DOTS]:
        yield circle(dot.style, across(dot.at), lanes[dot.lane], 4, title=f"{dot.at:.2f} s: {dot.said}")
    if len(dots) > _MOST_DOTS:
        yield text(f"and {len(dots) - _MOST_DOTS:,} more", _LEFT, _LANE // 2)


def _exchange_dots(history: History, lanes: dict[str, int]) -> Iterator[_Dot]:
    for each in history.exchanges:
        if isinstance(each, Read) and each.shard in lanes and (each.records or each.error):
            caption = each.error or f"{len(each.records)} records"
            yield _Dot(each.at, each.shard, "bad" if each.error else "read", caption)
        elif isinstance(each, Put) and "puts" in lanes:
            failed = each.error or next((entry.error for entry in each.entries if entry.error), "")
            yield _Dot(each.at, "puts", "bad" if failed else "read", failed or f"{len(each.entries)} records")
