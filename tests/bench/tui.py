"""The message list with a million messages behind it: how long a frame takes, scrolling and tailing.

The sandbox is played by rows made on demand, so that only the TUI is measured. A frame
is one redraw that draws the list: layout, drawing, and writing it out, in the processor's time, which
what else runs on the machine does not lengthen. Redraws of other widgets alone are left out: they cost
less, and chance decides how many there are, which would move the median. A stall is how late a callback
of the event loop comes, in real time: what a key would have waited. Idle is the share of one core that
the screens take while nothing happens.
"""

from __future__ import annotations

import asyncio
import statistics
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from time import process_time, thread_time
from typing import Any, Self

import msgspec
from textual.pilot import Pilot
from textual.screen import Screen

from emulator.clock import stopwatch
from emulator.listeners.control.events import NEWS_SECONDS
from rdss_sandbox import shapes as r
from tests.bench.rows import US, Row
from tests.tui.canned import Canned, row
from tui.__main__ import tune_garbage_collection
from tui.app import SandboxApp
from tui.keys.preferences import Preferences
from tui.widgets.message_list import MessageList

MESSAGES = 1_000_000
PER_SECOND = 2_000
SCREENFULS = 200
TAIL_SECONDS = 30.0
IDLE_SECONDS = 5.0
_SETTLE_SECONDS = 1.0
_TICK_SECONDS = 0.005


class Million(Canned):
    """A million messages, and after ``start`` two thousand more each second."""

    def __init__(self) -> None:
        super().__init__(messages=0)
        self.began: float | None = None
        self._started = asyncio.Event()

    def start(self) -> None:
        self.began = stopwatch()
        self._started.set()

    def stop(self) -> None:
        self.began = None
        self._started.clear()

    async def follow_news(
        self, *, on_connection: Callable[[bool], None] = lambda _: None
    ) -> AsyncIterator[r.News]:
        on_connection(True)
        yield r.News(first=True)
        while True:
            await self._started.wait()
            await asyncio.sleep(NEWS_SECONDS)
            yield r.News(streams=("input",))

    @property
    def arrived(self) -> int:
        """How many messages there are by now."""
        return MESSAGES + (0 if self.began is None else int((stopwatch() - self.began) * PER_SECOND))

    async def status(self) -> r.Status:
        return msgspec.structs.replace(await super().status(), messages=self.arrived)

    async def messages(
        self, *, offset: int | None = None, after: int | None = None, limit: int = 100, matching: str = ""
    ) -> r.MessagePage:
        total, first = self.arrived, (offset if offset is not None else after) or 0
        first = max(0, total + first) if first < 0 else first
        rows = tuple(row(number) for number in range(first + 1, min(first + limit, total) + 1))
        return r.MessagePage(rows, total, total)


class Frames:
    """Milliseconds of processor time of the list's redraws, and of stalls, while the context lasts."""

    def __init__(self) -> None:
        self.redraws: list[float] = []
        self.stalls: list[float] = []

    async def __aenter__(self) -> Self:
        self._refresh: Callable[[Screen[Any]], None] = Screen._compositor_refresh
        refresh, redraws = self._refresh, self.redraws

        def timed(screen: Screen[Any]) -> None:
            listed = any(isinstance(each, MessageList) for each in screen._dirty_widgets)
            begun = thread_time()
            refresh(screen)
            if listed:
                redraws.append((thread_time() - begun) * 1000)

        Screen._compositor_refresh = timed  # type: ignore[method-assign]
        self._ticking = asyncio.create_task(self._tick())
        return self

    async def __aexit__(self, *_: object) -> None:
        Screen._compositor_refresh = self._refresh  # type: ignore[method-assign]
        self._ticking.cancel()

    async def _tick(self) -> None:
        while True:
            begun = stopwatch()
            await asyncio.sleep(_TICK_SECONDS)
            self.stalls.append(max(0.0, stopwatch() - begun - _TICK_SECONDS) * 1000)


def measure() -> Iterator[Row]:
    """Rows for the table."""
    yield from asyncio.run(_measure())


async def _measure() -> list[Row]:
    client = Million()
    app = SandboxApp(client, Preferences())  # type: ignore[arg-type]
    rows: list[Row] = []
    tune_garbage_collection()
    async with app.run_test(size=(160, 48)) as pilot:
        shown = app.screen.query_one(MessageList)
        while shown.total < MESSAGES:
            await pilot.pause(0.05)
        rows += _rows("scrolling a million messages", await _framed(lambda: _scroll(pilot)))
        before = _resident_mb()
        rows += _rows(
            f"tailing {PER_SECOND:,} messages/s", await _framed(lambda: _tail(client, pilot, shown))
        )
        client.stop()
        rows.append(Row("idle", US, round(await _idle() * 100, 1), "% of a core"))
        rows.append(Row("memory grown by tailing", US, round(_resident_mb() - before, 1), "MB"))
    return rows


async def _idle() -> float:
    """The share of a core that is used while nothing happens."""
    await asyncio.sleep(_SETTLE_SECONDS)
    used, begun = process_time(), stopwatch()
    await asyncio.sleep(IDLE_SECONDS)
    return (process_time() - used) / (stopwatch() - begun)


async def _framed(run: Callable[[], Awaitable[None]]) -> Frames:
    async with Frames() as frames:
        await run()
    return frames


async def _scroll(pilot: Pilot[None]) -> None:
    await pilot.press("g")
    for _ in range(SCREENFULS):
        await pilot.press("pagedown")


async def _tail(client: Million, pilot: Pilot[None], shown: MessageList) -> None:
    client.start()
    shown.following = True
    await asyncio.sleep(TAIL_SECONDS)
    assert shown.total > MESSAGES + PER_SECOND * (TAIL_SECONDS - 2), "the tail fell behind"


def _rows(what: str, frames: Frames) -> list[Row]:
    return [
        Row(f"{what}, frame median", US, round(statistics.median(frames.redraws), 2), "ms"),
        Row(f"{what}, frame p99", US, round(_p99(frames.redraws), 2), "ms"),
        Row(f"{what}, stall p99", US, round(_p99(frames.stalls), 2), "ms"),
    ]


def _p99(values: list[float]) -> float:
    return statistics.quantiles(values, n=100)[98]


def _resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * 4096 / 1e6
