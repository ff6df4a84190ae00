"""A run, or one stage of it, as a picture: lanes for the client's starts, each shard, and what it told."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import Final, NamedTuple

from emulator.pages.frame import wide
from emulator.pages.svg import circle, drawing, line, text
from rdss_sandbox.shapes.trace import Put, Read
from sandbox.certify.history import History

_WIDTH: Final = 1000
_LEFT: Final = 190
_RIGHT: Final = 990
_LANE: Final = 22
_MOST_DOTS: Final = 3000


class _Dot(NamedTuple):
    at: float
    lane: str
    style: str
    said: str


class _Window(NamedTuple):
    """The part of a run that is drawn, in seconds since its begin."""

    began: float
    ended: float

    def has(self, at: float) -> bool:
        return self.began <= at <= self.ended

    def across(self, at: float) -> float:
        """How far right a time is."""
        part = (min(max(at, self.began), self.ended) - self.began) / (self.ended - self.began)
        return round(_LEFT + part * (_RIGHT - _LEFT), 1)


def draw_run(history: History) -> str:
    """The whole run, an SVG in an element of the class ``picture``."""
    end = _end_of(history)
    return _draw(history, _Window(0.0, end), _name_lanes(history), f"the run, {end:.0f} seconds")


def draw_stage(history: History, name: str) -> str:
    """One stage, with the shards that were read in it; empty for a stage that was not played."""
    began = next((at for at, each, _ in history.stages if each == name), None)
    if began is None:
        return ""
    later = (at for at, each, _ in history.stages if at > began and each != name)
    ended = max(
        (each.at for each in history.ends if each.name == name), default=next(later, _end_of(history))
    )
    window = _Window(began, max(ended, began + 1.0))
    touched = {each.shard for each in history.exchanges if isinstance(each, Read) and window.has(each.at)}
    names = [each for each in _name_lanes(history) if each in {"starts", "told", "puts"} | touched]
    return _draw(history, window, names, f"the stage {name}, {window.ended - began:.0f} seconds")


def _end_of(history: History) -> float:
    return max([1.0, *(each.at for each in history.exchanges), *(each.at for each in history.told)])


def _name_lanes(history: History) -> list[str]:
    middle = [shard.id for shard in history.shards] if history.reads() else ["puts"]
    return ["starts", *middle, "told"]


def _draw(history: History, window: _Window, names: list[str], label: str) -> str:
    lanes = {name: (at + 1) * _LANE for at, name in enumerate(names)}
    height = (len(lanes) + 1) * _LANE
    drawn = (
        *_lanes(lanes),
        *_stages(history, window, height),
        *_starts(history, window, lanes["starts"]),
        *_dots(history, lanes, window),
    )
    return wide(drawing("".join(drawn), _WIDTH, height, label), f"picture: {label}")


def _lanes(lanes: dict[str, int]) -> Iterator[str]:
    for name, y in lanes.items():
        yield line("lane", _LEFT, y, _RIGHT, y)
        yield text(name, 0, y + 4)


def _stages(history: History, window: _Window, height: int) -> Iterator[str]:
    for at, name, _ in history.stages:
        if window.has(at):
            yield line("mark", window.across(at), 8, window.across(at), height - 8, title=name)


def _starts(history: History, window: _Window, y: int) -> Iterator[str]:
    for life in history.lives:
        ended = inf if life.ended is None else life.ended
        if life.began <= window.ended and ended >= window.began:
            caption = f"start {life.number + 1}, {life.end or 'running'}"
            yield line("start", window.across(life.began), y, window.across(ended), y, title=caption)


def _dots(history: History, lanes: dict[str, int], window: _Window) -> Iterator[str]:
    dots = [*_exchange_dots(history, lanes)]
    dots += [_Dot(each.at, "told", "told", each.message_id) for each in history.told]
    dots = [each for each in dots if window.has(each.at)]
    for dot in dots[:_MOST_DOTS]:
        yield circle(
            dot.style, window.across(dot.at), lanes[dot.lane], 4, title=f"{dot.at:.2f} s: {dot.said}"
        )
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
