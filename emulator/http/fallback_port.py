"""Ports with a usual number, and a free one where that is taken. Clients ask the sandbox for the number."""

from __future__ import annotations

import errno
from dataclasses import dataclass
from functools import partial

from emulator.clock import Clock
from emulator.http.asgi import App
from emulator.http.bounds.port_connections import FailureHandler
from emulator.http.server import Server, serve
from emulator.machine.port_tls import PortTls


@dataclass(frozen=True, slots=True)
class FallbackPort:
    """The port of ``name``: the number that was ``asked`` for (0: any free one), else the ``usual`` one."""

    name: str
    usual: int
    asked: int | None


async def serve_at(
    port: FallbackPort,
    app: App,
    host: str,
    *,
    on_failure: FailureHandler,
    clock: Clock | None = None,
    tls: PortTls | None = None,
) -> tuple[Server, str | None]:
    """Listen on ``port``, or on a free one when the usual one is taken; then a note for people says so.

    Raises OSError when a port that was asked for cannot be taken; the message says what to do.
    """
    number = port.usual if port.asked is None else port.asked
    served = partial(serve, app, host, on_failure=on_failure, clock=clock, sockets=True, tls=tls)
    try:
        return await served(number), None
    except OSError as error:
        if port.asked is not None or error.errno != errno.EADDRINUSE:
            raise
    server = await served(0)
    return server, f"port {port.usual} is in use, so {port.name} answer at {server.url}"
