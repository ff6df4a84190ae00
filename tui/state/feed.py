"""Polls the sandbox and posts its state, or the loss of the connection, as messages to the app."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from textual.message import Message

from rdss_sandbox.client import AsyncClient, RefusedError, UnreachableError
from rdss_sandbox.shapes.streams import Stream, StreamDetail
from tui.state.worker_messages import ConnectionLost, Snapshot, SnapshotTaken

BUSY_SECONDS = 0.25
QUIET_SECONDS = 0.5
RETRY_SECONDS = 1.0
_READERS_SECONDS = 1.0


async def take_snapshot(client: AsyncClient, before: Snapshot | None = None) -> Snapshot:
    """Fetch the state of the sandbox; streams and faults that did not change are taken from ``before``."""
    status, listed = await asyncio.gather(client.status(), _count_messages(client))
    known = dict(zip(before.status.streams, before.streams, strict=True)) if before else {}

    async def detail(stream: Stream) -> StreamDetail:
        return known.get(stream) or await client.stream(stream.name)

    streams = await asyncio.gather(*map(detail, status.streams))
    now = asyncio.get_running_loop().time
    if before is None:
        faults, readers = await asyncio.gather(client.faults(), client.readers())
        return Snapshot(now(), now(), status, listed, tuple(streams), faults, readers)
    same = (status.pid, status.events) == (before.status.pid, before.status.events)
    faults = before.faults if same else await client.faults()
    # Reads make no event, so readers are fetched by time.
    stale = now() - before.readers_at >= _READERS_SECONDS
    readers = await client.readers() if stale else before.readers
    readers_at = now() if stale else before.readers_at
    return Snapshot(now(), readers_at, status, listed, tuple(streams), faults, readers)


async def _count_messages(client: AsyncClient) -> int | None:
    """Count the messages that can be listed. To ask for them indexes them; the status does not."""
    try:
        return (await client.messages(limit=1)).total
    except RefusedError:
        return None


async def poll_sandbox(client: AsyncClient, post: Callable[[Message], object]) -> None:
    """Post ``SnapshotTaken`` for each answer and ``ConnectionLost`` for each failure, until cancelled.

    It polls more often while the state changes.
    """
    snapshot: Snapshot | None = None
    while True:
        try:
            before, snapshot = snapshot, await take_snapshot(client, snapshot)
            post(SnapshotTaken(snapshot))
            busy = before is None or before.moved != snapshot.moved
            await asyncio.sleep(BUSY_SECONDS if busy else QUIET_SECONDS)
        except (UnreachableError, RefusedError) as error:
            # 404: a stream was deleted between two requests. The next poll is right again.
            if isinstance(error, UnreachableError) or error.status != 404:
                post(ConnectionLost(str(error)))
            await asyncio.sleep(RETRY_SECONDS)
