"""The open connections of one listening port and the requests under way on them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol, TypeAlias

from emulator.listeners.asgi import App, ConnectionAborted, HttpScope, Message

FailureHandler: TypeAlias = Callable[[Exception], None]


class Connection(Protocol):
    """One client's connection."""

    def drain(self) -> None:
        """Take no further request, and close once those under way are answered."""

    def abort(self) -> None:
        """Close at once."""


class Exchange(Protocol):
    """One request and its response, as the application sees them."""

    scope: HttpScope
    done: bool

    async def receive(self) -> Message: ...

    async def send(self, message: Message) -> None: ...

    def abort(self) -> None:
        """Close the connection without an answer."""

    async def fail(self) -> None:
        """Answer 500, or cut the answer that has begun."""


class Connections:
    """What is open on a port: ``undecided`` connections have not said yet which protocol they speak.

    ``websockets`` says whether ``app`` knows the ``websocket`` part of ASGI.
    """

    def __init__(
        self, app: App, on_failure: FailureHandler | None = None, *, websockets: bool = False
    ) -> None:
        self.app = app
        self.websockets = websockets
        self.undecided: set[asyncio.Transport] = set()
        self._open: set[Connection] = set()
        self._requests: set[asyncio.Task[None]] = set()
        self._on_failure = on_failure

    def opened(self, connection: Connection) -> None:
        self._open.add(connection)

    def closed(self, connection: Connection) -> None:
        self._open.discard(connection)

    def start(self, exchange: Exchange) -> None:
        """Have the application answer, in a task that is known here until it ends."""
        task = asyncio.ensure_future(self._answer(exchange))
        self._requests.add(task)
        task.add_done_callback(self._requests.discard)

    async def _answer(self, exchange: Exchange) -> None:
        try:
            await self.app(exchange.scope, exchange.receive, exchange.send)
        except ConnectionAborted:
            exchange.abort()
        except Exception as error:  # noqa: BLE001 -- told to the owner of the port; the client sees a 500
            try:
                self.failed(error)
            finally:
                await exchange.fail()
        else:
            if not exchange.done:
                await exchange.fail()

    def failed(self, error: Exception) -> None:
        """Tell of an exception that the application let through."""
        if self._on_failure and not isinstance(error, ConnectionAborted):
            self._on_failure(error)

    async def close(self, grace: float) -> None:
        """Drain every connection; after ``grace`` seconds cancel the requests left and abort."""
        for transport in tuple(self.undecided):
            transport.abort()
        for connection in tuple(self._open):
            connection.drain()
        if self._requests:
            _, late = await asyncio.wait(self._requests, timeout=grace)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        # One accepted meanwhile has still to be made, and one that was aborted still to be lost.
        for _ in range(3):
            for transport in tuple(self.undecided):
                transport.abort()
            for connection in tuple(self._open):
                connection.abort()
            await asyncio.sleep(0)
