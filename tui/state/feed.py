"""The one place that keeps asking how the sandbox is: state arrives as messages, loss and return included."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from textual.message import Message

from rdss_sandbox.client import AsyncClient, RefusedError, UnreachableError
from rdss_sandbox.shapes.streams import Stream, StreamDetail
from tui.state.worker_messages import Lost, Seen, Snapshot

BUSY_SECONDS = 0.25
QUIET_SECONDS = 0.5
RETRY_SECONDS = 1.0
_READERS_SECONDS = 1.0


async def look(client: AsyncClient, before: Snapshot | None = None) -> Snapshot:
    """The sandbox as it stands now; nothing more is asked of what is as it was ``before``."""
    status = await client.status()
    known = dict(zip(before.status.streams, before.streams, strict=True)) if before else {}

    async def detail(stream: Stream) -> StreamDetail:
        return known.get(stream) or await client.stream(stream.name)

    streams = await asyncio.gather(*map(detail, status.streams))
    now = asyncio.get_running_loop().time
    if before is None:
        faults, readers = await asyncio.gather(client.faults(), client.readers())
        return Snapshot(now(), now(), status, tuple(streams), faults, readers)
    same = (status.pid, status.events) == (before.status.pid, before.status.events)
    faults = before.faults if same else await client.faults()
    # Whoever reads on makes no event.
    stale = now() - before.readers_at >= _READERS_SECONDS
    readers = await client.readers() if stale else before.readers
    readers_at = now() if stale else before.readers_at
    return Snapshot(now(), readers_at, status, tuple(streams), faults, readers)


async def keep_looking(client: AsyncClient, post: Callable[[Message], object]) -> None:
    """Post ``Seen`` while the sandbox answers, oftener while something moves, and else ``Lost``, for ever."""
    snapshot: Snapshot | None = None
    while True:
        try:
            before, snapshot = snapshot, await look(client, snapshot)
            post(Seen(snapshot))
            busy = before is None or before.moved != snapshot.moved
            await asyncio.sleep(BUSY_SECONDS if busy else QUIET_SECONDS)
        except (UnreachableError, RefusedError) as error:
            # A stream deleted between the two questions is refused: that is no loss, the next look is right.
            if isinstance(error, UnreachableError) or error.status != 404:
                post(Lost(str(error)))
            await asyncio.sleep(RETRY_SECONDS)
