"""The typed client of the control API: ``Client`` blocks, ``AsyncClient`` is for asyncio.

Both have the methods of ``ControlApi``, where an endpoint is declared once for both and for the server. A
method returns a shape of ``rdss_sandbox.shapes``. It raises ``UnreachableError`` when nothing answers at the
address and ``RefusedError`` when the sandbox refuses the request.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import Final, Self

import httpx
import msgspec

from rdss_sandbox.api.control_api import ControlApi
from rdss_sandbox.shapes.clock import ClockReading
from rdss_sandbox.shapes.events import Event, News, event_of
from rdss_sandbox.transports import Awaiting, Blocking, RefusedError, UnreachableError, check

__all__ = ["AsyncClient", "Client", "RefusedError", "UnreachableError"]

_RETRY_SECONDS: Final = 0.5
_LONGEST_RETRY_SECONDS: Final = 4.0


class Client(ControlApi[Blocking]):
    """A blocking client of the control API at ``url``; beyond loopback, the sandbox needs its ``token``.

    With https, the authorities in the PEM file ``trust`` are trusted, or those of AWS_CA_BUNDLE.
    """

    def __init__(self, url: str, *, token: str | None = None, trust: Path | str | None = None) -> None:
        self.url = url.rstrip("/")
        super().__init__(Blocking(self.url, token, trust))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.transport.http.close()


class AsyncClient(ControlApi[Awaiting]):
    """``Client`` for asyncio; it also follows events and the clock live.

    ``pause`` waits the given seconds before a lost live stream is connected again.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        trust: Path | str | None = None,
        pause: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self.url = url.rstrip("/")
        self._pause = pause
        super().__init__(Awaiting(self.url, token, trust))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self.transport.http.aclose()

    async def follow_events(
        self, after: int = 0, *, on_connection: Callable[[bool], None] = lambda _: None
    ) -> AsyncIterator[Event]:
        """Yield every event with an id above ``after``, past and future, until cancelled.

        A lost connection is made again. ``on_connection`` is called with True after each connection and with
        False after each loss. A sandbox that restarted in between counts its events from 1 again.
        Raises ``RefusedError``.
        """
        resume = {"last-event-id": str(after)}
        async for data in self._follow(ControlApi.events.path, resume, on_connection):
            event = event_of(msgspec.json.decode(data))
            resume["last-event-id"] = str(event.id)
            yield event

    async def follow_news(
        self, *, on_connection: Callable[[bool], None] = lambda _: None
    ) -> AsyncIterator[News]:
        """Yield what kinds of events there were and where records came, at most every 50 ms, until cancelled.

        Connections are as for ``follow_events``; the first news after each says so.
        """
        async for data in self._follow(f"{ControlApi.events.path}?news=true", {}, on_connection):
            yield msgspec.json.decode(data, type=News)

    async def follow_clock(
        self, *, on_connection: Callable[[bool], None] = lambda _: None
    ) -> AsyncIterator[ClockReading]:
        """Yield the clock's reading now and after each change of it, until cancelled.

        Connections are as for ``follow_events``. The first reading after a connection is current.
        """
        async for data in self._follow(ControlApi.clock.path, {}, on_connection):
            yield msgspec.json.decode(data, type=ClockReading)

    async def _follow(
        self, path: str, headers: Mapping[str, str], on_connection: Callable[[bool], None]
    ) -> AsyncIterator[str]:
        """Yield the data of each server-sent event; connect again after each loss, with growing pauses."""
        pause = _RETRY_SECONDS
        while True:
            try:
                asked = {"accept": "text/event-stream", **headers}
                async with self.transport.http.stream("GET", path, headers=asked) as answer:
                    if answer.is_error:
                        await answer.aread()
                    check(answer)
                    on_connection(True)
                    pause = _RETRY_SECONDS
                    async for line in answer.aiter_lines():
                        if line.startswith("data:"):
                            yield line[5:]
            except httpx.TransportError:
                pass
            on_connection(False)
            await self._pause(pause)
            pause = min(pause * 2, _LONGEST_RETRY_SECONDS)
