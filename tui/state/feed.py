"""Follows the news of the sandbox and posts them, its state, and the loss of the connection to the app."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from textual.message import Message

from rdss_sandbox.client import AsyncClient, RefusedError, UnreachableError
from rdss_sandbox.shapes.events import News
from tui.state.worker_messages import ConnectionLost, NewsArrived, ObservedState, SnapshotTaken

HEARTBEAT_SECONDS = 1.0
"""The time after which the state is fetched without news: the clock goes on, and reads make no event."""
PAUSE_SECONDS = 0.05
FLOOD_SECONDS = 1.0
"""The pause while more messages or events come than anybody can read."""
_FLOOD_RATE = 500.0
_WINDOW_SECONDS = 0.5
RETRY_SECONDS = 1.0
_LONGEST_RETRY_SECONDS = 8.0


class UnreadNews:
    """The news since they were last taken, together."""

    def __init__(self) -> None:
        self._news = News()
        self._some = asyncio.Event()

    def add(self, news: News) -> None:
        known = self._news
        kinds, streams = {*known.kinds, *news.kinds}, {*known.streams, *news.streams}
        first = known.first or news.first
        self._news = News(kinds=tuple(sorted(kinds)), streams=tuple(sorted(streams)), first=first)
        self._some.set()

    async def take(self, seconds: float) -> News:
        """Wait so long at most, and take what there is."""
        try:
            async with asyncio.timeout(seconds):
                await self._some.wait()
        except TimeoutError:
            return News()
        self._some.clear()
        news, self._news = self._news, News()
        return news


class Pace:
    """How long to wait until the next refresh, by how many messages and events came lately."""

    def __init__(self) -> None:
        self._counts: deque[tuple[float, int]] = deque()

    def after(self, snapshot: ObservedState) -> float:
        """The pause after this snapshot, in seconds."""
        self._counts.append((snapshot.at, snapshot.status.messages + snapshot.status.events))
        while len(self._counts) > 2 and self._counts[1][0] <= snapshot.at - _WINDOW_SECONDS:
            self._counts.popleft()
        (since, before), (_, now) = self._counts[0], self._counts[-1]
        rate = (now - before) / max(_WINDOW_SECONDS, snapshot.at - since)
        return FLOOD_SECONDS if rate > _FLOOD_RATE else PAUSE_SECONDS


async def follow_sandbox(client: AsyncClient, post: Callable[[Message], object]) -> None:
    """Post ``NewsArrived`` and ``SnapshotTaken`` at news, and ``ConnectionLost`` for each failure.

    It ends when it is cancelled. News while it is busy, or within a pause, are posted together.
    """
    unread, pace = UnreadNews(), Pace()
    listening = asyncio.create_task(_listen(client, unread))
    snapshot: ObservedState | None = None
    news, retry = News(first=True), RETRY_SECONDS
    try:
        while True:
            try:
                if news != News():
                    post(NewsArrived(news))
                snapshot = await take_snapshot(client, snapshot, news)
                post(SnapshotTaken(snapshot))
                retry = RETRY_SECONDS
                await asyncio.sleep(pace.after(snapshot))
                news = await unread.take(HEARTBEAT_SECONDS)
            except (UnreachableError, RefusedError) as error:
                post(ConnectionLost(str(error)))
                # The first news of a new connection end the wait.
                await unread.take(retry)
                retry = min(retry * 2, _LONGEST_RETRY_SECONDS)
                news = News(first=True)
    finally:
        listening.cancel()


async def take_snapshot(client: AsyncClient, before: ObservedState | None, news: News) -> ObservedState:
    """Fetch the state of the sandbox; what cannot have changed since ``before`` is taken from it.

    The contract is that of the sandbox's process, and faults change with an event.
    """
    status = await client.status()
    same = before if before and not news.first and before.status.pid == status.pid else None
    faults = same.faults if same and not news.kinds else await client.faults()
    contract = same.contract if same else await client.contract()
    return ObservedState(asyncio.get_running_loop().time(), status, faults, contract)


async def _listen(client: AsyncClient, unread: UnreadNews) -> None:
    while True:
        try:
            # A connection that is made or lost is a reason to look, as news are.
            async for news in client.follow_news(on_connection=lambda _: unread.add(News())):
                unread.add(news)
        except RefusedError:
            # The state is refused too, and the reason shown.
            await asyncio.sleep(_LONGEST_RETRY_SECONDS)
