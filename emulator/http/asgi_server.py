"""The port of an ASGI application: HTTP/1.1 and WebSocket by uvicorn's protocols.

uvicorn's ``Server`` is not used. It takes over signals, wakes up ten times a second, dates answers by the
machine's clock, and ends the process where a port is taken.
"""

from __future__ import annotations

import logging
from typing import Final

from uvicorn import Config
from uvicorn.server import ServerState

from emulator.clock import Clock
from emulator.http.asgi import App
from emulator.http.asgi_protocols.http import HttpProtocol
from emulator.http.bounds.connections import Connections, FailureHandler
from emulator.http.bounds.limits import MESSAGE_BYTES, USUAL, Limits
from emulator.http.server import Server, listen

PING_SECONDS: Final = 20.0
"""The time between two pings of a WebSocket, and the time for the answer."""


async def serve_asgi(
    app: App,
    host: str,
    port: int,
    *,
    on_failure: FailureHandler | None = None,
    clock: Clock | None = None,
    limits: Limits = USUAL,
) -> Server:
    """Listen on ``host:port`` (0 picks a free port) and run ``app`` for every request and WebSocket.

    ``on_failure`` gets the exceptions that ``app`` raises; the client gets a bare 500. Answers are dated by
    ``clock``, by default the machine's. Raises OSError when the port cannot be taken; the message says what
    to do.
    """
    connections = Connections(app, on_failure, clock=clock, limits=limits)
    config = Config(
        app,
        http=HttpProtocol,
        ws="none",
        ws_ping_interval=PING_SECONDS,
        ws_ping_timeout=PING_SECONDS,
        ws_max_size=MESSAGE_BYTES,
        ws_per_message_deflate=False,
        lifespan="off",
        interface="asgi3",
        proxy_headers=False,
        workers=1,
        log_config=None,
        log_level=logging.CRITICAL,
        access_log=False,
        timeout_keep_alive=int(limits.idle_seconds) + 1,
    )
    config.load()
    state = ServerState()
    return await listen(lambda: HttpProtocol(connections, config, state), connections, host, port)
