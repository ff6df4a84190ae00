"""The topics port: commands as JSON on a WebSocket, or over HTTP with server-sent events."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from emulator.http.asgi import HttpScope, Receive, Send

if TYPE_CHECKING:
    from extensions.topics.http.topics_app import TopicsPort
    from extensions.topics.topics_service import TopicService


class TopicsApp:
    """An ASGI application over ``service``, which imports the code of topics with the first request.

    ``failed`` is called with unexpected errors.
    """

    def __init__(self, service: TopicService, failed: Callable[[Exception], None]) -> None:
        self._service = service
        self._failed = failed
        self._port: TopicsPort | None = None

    def close(self) -> None:
        """End every stream of events. A server that stops tells the WebSockets itself."""
        if self._port is not None:
            self._port.close()

    async def __call__(self, scope: HttpScope, receive: Receive, send: Send) -> None:
        if self._port is None:
            port = await asyncio.to_thread(self._make_port)
            self._port = self._port or port
        await self._port(scope, receive, send)

    def _make_port(self) -> TopicsPort:
        from extensions.topics.http.topics_app import TopicsPort

        return TopicsPort(self._service, self._failed)
