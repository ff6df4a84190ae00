"""The one place that keeps asking how the sandbox is: state arrives as messages, loss and return included."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from textual.message import Message

from emulator.client import AsyncClient, RefusedError, UnreachableError
from emulator.clock import stopwatch
from emulator.resources import Stream, StreamDetail
from tui.messages import Lost, Seen, Snapshot

ASK_EVERY_SECONDS = 0.5
RETRY_SECONDS = 1.0


async def look(client: AsyncClient, before: Snapshot | None = None) -> Snapshot:
    """The sandbox as it stands now; of streams that are as they were ``before`` nothing more is asked."""
    status, faults = await asyncio.gather(client.status(), client.faults())
    known = dict(zip(before.status.streams, before.streams, strict=True)) if before else {}

    async def detail(stream: Stream) -> StreamDetail:
        return known.get(stream) or await client.stream(stream.name)

    streams = await asyncio.gather(*map(detail, status.streams))
    return Snapshot(stopwatch(), status, tuple(streams), faults)


async def keep_looking(client: AsyncClient, post: Callable[[Message], object]) -> None:
    """Post ``Seen`` twice a second while the sandbox answers and ``Lost`` while it does not, for ever."""
    snapshot: Snapshot | None = None
    while True:
        try:
            snapshot = await look(client, snapshot)
            post(Seen(snapshot))
            await asyncio.sleep(ASK_EVERY_SECONDS)
        except (UnreachableError, RefusedError) as error:
            # A stream deleted between the two questions is refused: that is no loss, the next look is right.
            if isinstance(error, UnreachableError) or error.status != 404:
                post(Lost(str(error)))
            await asyncio.sleep(RETRY_SECONDS)
