"""Ports that have a usual number but need not have it: what listens there is found by asking the sandbox."""

from __future__ import annotations

import errno
from dataclasses import dataclass
from functools import partial

from emulator.clock import Clock
from emulator.http.asgi import App
from emulator.http.connections import FailureHandler
from emulator.http.server import Server, serve


@dataclass(frozen=True, slots=True)
class FallbackPort:
    """The port of ``name``; ``usual`` is taken where nobody ``asked`` for another (0: any free one)."""

    name: str
    usual: int
    asked: int | None


async def serve_at(
    port: FallbackPort,
    app: App,
    host: str,
    *,
    on_failure: FailureHandler,
    websockets: bool = False,
    clock: Clock | None = None,
) -> tuple[Server, str | None]:
    """Listen there, or on a free port when the usual one is taken, with a note for people that says so.

    Raises OSError, with what to do about it, when the port that was asked for cannot be taken.
    """
    wanted = port.usual if port.asked is None else port.asked
    served = partial(serve, app, host, on_failure=on_failure, websockets=websockets, clock=clock)
    try:
        return await served(wanted), None
    except OSError as error:
        if port.asked is not None or error.errno != errno.EADDRINUSE:
            raise
    server = await served(0)
    return server, f"port {port.usual} is in use, so {port.name} answer at {server.url}"
