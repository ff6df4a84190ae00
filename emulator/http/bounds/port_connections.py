"""The open connections of one listening port, and the requests that run on them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from typing import Protocol, TypeAlias

from emulator.clock import Clock
from emulator.http.answer_date import AnswerDate
from emulator.http.asgi import App, ClientGoneError, HttpScope, Message, NoRoomError
from emulator.http.bounds.client_limits import USUAL, Limits
from emulator.http.bounds.request_queue import RequestQueue
from emulator.http.bounds.timeouts import ClientTimeouts, WaitingConnection
from emulator.http.bounds.turns import Turns
from emulator.http.http1.closing_answer import close_with_answer, refusal

FailureHandler: TypeAlias = Callable[[Exception], None]


class HttpConnection(WaitingConnection, Protocol):
    """One client's connection."""

    def drain(self) -> None:
        """Accept no further request, and close when the running ones are answered."""

    def abort(self) -> None:
        """Close at once."""


class HttpExchange(Protocol):
    """One request and its response, as the application sees them."""

    scope: HttpScope

    @property
    def done(self) -> bool:
        """Whether the response is complete."""

    @property
    def gone(self) -> bool:
        """Whether the client has left, so that no answer is needed."""

    async def receive(self) -> Message: ...

    async def send(self, message: Message) -> None: ...

    def abort(self) -> None:
        """Close the connection without an answer."""

    async def fail(self, status: int = 500, why: str = "Internal Server Error") -> None:
        """Answer with ``status`` and ``why`` as text, or cut off an answer that has begun."""


class Connections:
    """The open connections of a port, and what they share.

    ``sockets`` says that the application takes WebSockets, ``scheme`` whether its clients call http or https.
    ``streams`` are the HTTP/2 streams, whose clients are waited for one by one.
    """

    def __init__(
        self,
        app: App,
        on_failure: FailureHandler | None = None,
        *,
        clock: Clock | None = None,
        limits: Limits = USUAL,
        sockets: bool = False,
        scheme: str = "http",
    ) -> None:
        self.app = app
        self.scheme = scheme
        self.sockets = sockets
        self.limits = limits
        self.date = AnswerDate(clock or Clock())
        self.turns = Turns()
        self._starts = RequestQueue()
        # The last long body is kept alive until the next one replaces it. Otherwise the allocator returns its
        # pages to the system, and each next body page-faults all of them in again.
        self.last_body: bytes | bytearray = b""
        self.streams: set[WaitingConnection] = set()
        self._open: set[HttpConnection] = set()
        self._timeouts = ClientTimeouts(
            limits, self._clients, lambda: len(self._open) > limits.connections // 2
        )
        self._requests: set[asyncio.Task[None]] = set()
        self._on_failure = on_failure

    def admits(self, transport: asyncio.Transport) -> bool:
        """Return whether the port takes another connection. One that it does not take is answered 503."""
        most = self.limits.connections
        if len(self._open) < most:
            return True
        why = f"{most} connections are open, and this port takes no more: try again later"
        close_with_answer(transport, refusal(HTTPStatus.SERVICE_UNAVAILABLE, why, self.date), lambda: None)
        return False

    def opened(self, connection: HttpConnection) -> None:
        self._open.add(connection)
        self._timeouts.start()

    def closed(self, connection: HttpConnection) -> None:
        self._open.discard(connection)

    def start(
        self,
        connection: HttpConnection,
        exchange: HttpExchange,
        app: App | None = None,
        done: Callable[[], None] | None = None,
    ) -> None:
        """Run the application, or ``app``, for a request, in a task of its own.

        The task starts at once, or in its turn when many requests run. ``done`` is called when it has ended.
        """
        if self._starts.room:
            self._begin(exchange, app or self.app, done)
        else:
            self._starts.put(connection, partial(self._begin, exchange, app or self.app, done))

    def _begin(self, exchange: HttpExchange, app: App, done: Callable[[], None] | None) -> None:
        task = asyncio.get_running_loop().create_task(self._answer(exchange, app))
        self._requests.add(task)
        self._starts.begun(task)
        task.add_done_callback(self._ended)
        if done:
            task.add_done_callback(lambda _: done())

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._requests.discard(task)
        self._starts.ended(task)

    async def _answer(self, exchange: HttpExchange, app: App) -> None:
        # It may have waited for its turn for longer than its client did.
        if exchange.gone:
            return
        try:
            await app(exchange.scope, exchange.receive, exchange.send)
        except NoRoomError as error:
            await exchange.fail(503, str(error))
        except ClientGoneError:
            exchange.abort()
        except Exception as error:  # noqa: BLE001 -- told to the owner of the port; the client sees a 500
            try:
                self.failed(error)
            finally:
                await exchange.fail()
        else:
            if not exchange.done:
                await exchange.fail()

    def _clients(self) -> list[WaitingConnection]:
        return [*self._open, *self.streams]

    def failed(self, error: Exception) -> None:
        """Report an exception that the application raised."""
        if self._on_failure and not isinstance(error, ClientGoneError):
            self._on_failure(error)

    async def close(self, grace: float) -> None:
        """Drain every connection. After ``grace`` seconds cancel the requests that are left, and abort."""
        self._timeouts.stop()
        for connection in tuple(self._open):
            connection.drain()
        if self._requests:
            _, late = await asyncio.wait(self._requests, timeout=grace)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        # A connection that was accepted meanwhile is made in the next turn of the loop, and one that is
        # aborted is lost in the next turn.
        for _ in range(3):
            for connection in tuple(self._open):
                connection.abort()
            await asyncio.sleep(0)
        # Such a connection has started them again.
        self._timeouts.stop()
