"""Live answers: server-sent events until the reader leaves or the sandbox ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Final

from starlette.requests import Request
from starlette.responses import StreamingResponse

_MEDIA_TYPE: Final = "text/event-stream"
_SILENCE_SECONDS: Final = 10.0


class LiveAnswers:
    """The open live answers, so that ``close`` can end them."""

    def __init__(self) -> None:
        self._readers: set[asyncio.Task[None]] = set()

    def close(self) -> None:
        """End every live answer."""
        for reader in self._readers:
            reader.cancel()

    def answer(self, messages: AsyncGenerator[bytes, None], held: int = 1000) -> StreamingResponse:
        """Answer with ``messages`` as they come; each is a whole server-sent event.

        No more than ``held`` of them wait for a reader that is slow.
        """
        return StreamingResponse(
            self._stream(messages, held), media_type=_MEDIA_TYPE, headers={"cache-control": "no-store"}
        )

    async def _stream(self, messages: AsyncGenerator[bytes, None], held: int) -> AsyncIterator[bytes]:
        queue: asyncio.Queue[bytes] = asyncio.Queue(maxsize=held)
        reader = asyncio.create_task(_fill(messages, queue))
        self._readers.add(reader)
        try:
            yield b": connected\n\n"
            while not (reader.done() and queue.empty()):
                yield await _next_or_comment(queue)
        finally:
            reader.cancel()
            self._readers.discard(reader)


def wants_live(request: Request) -> bool:
    """Whether the request asks for server-sent events."""
    return _MEDIA_TYPE in request.headers.get("accept", "")


async def _fill(messages: AsyncGenerator[bytes, None], queue: asyncio.Queue[bytes]) -> None:
    try:
        async with aclosing(messages):
            async for message in messages:
                await queue.put(message)
    finally:
        if queue.empty():
            queue.put_nowait(b": closing\n\n")


async def _next_or_comment(queue: asyncio.Queue[bytes]) -> bytes:
    """The next message, or a comment after a silence, so that a lost reader is noticed."""
    try:
        async with asyncio.timeout(_SILENCE_SECONDS):
            return await queue.get()
    except TimeoutError:
        return b": nothing new\n\n"
