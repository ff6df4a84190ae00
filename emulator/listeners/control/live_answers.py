"""Answers that go on: server-sent events until the reader leaves or the sandbox ends."""

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
    """Every live answer under way, so that all of them can be ended."""

    def __init__(self) -> None:
        self._readers: set[asyncio.Task[None]] = set()

    def close(self) -> None:
        """End every live answer."""
        for reader in self._readers:
            reader.cancel()

    def answer(self, messages: AsyncGenerator[bytes, None]) -> StreamingResponse:
        """The ``messages``, each a whole server-sent event, as they come."""
        return StreamingResponse(
            self._stream(messages), media_type=_MEDIA_TYPE, headers={"cache-control": "no-store"}
        )

    async def _stream(self, messages: AsyncGenerator[bytes, None]) -> AsyncIterator[bytes]:
        queue: asyncio.Queue[bytes] = asyncio.Queue(maxsize=1000)
        reader = asyncio.create_task(_read(messages, queue))
        self._readers.add(reader)
        try:
            yield b": connected\n\n"
            while not (reader.done() and queue.empty()):
                yield await _next(queue)
        finally:
            reader.cancel()
            self._readers.discard(reader)


def wants_live(request: Request) -> bool:
    """Whether the request asks for an answer that goes on."""
    return _MEDIA_TYPE in request.headers.get("accept", "")


async def _read(messages: AsyncGenerator[bytes, None], queue: asyncio.Queue[bytes]) -> None:
    try:
        async with aclosing(messages):
            async for message in messages:
                await queue.put(message)
    finally:
        if queue.empty():
            queue.put_nowait(b": closing\n\n")


async def _next(queue: asyncio.Queue[bytes]) -> bytes:
    """What to send next; after a while of nothing a comment, so that a lost reader is noticed."""
    try:
        async with asyncio.timeout(_SILENCE_SECONDS):
            return await queue.get()
    except TimeoutError:
        return b": nothing new\n\n"
