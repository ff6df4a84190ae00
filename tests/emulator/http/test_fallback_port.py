"""Ports that fall back to a free one unless they were asked for."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from emulator.http.fallback_port import FallbackPort, serve_at


@pytest.fixture
def taken() -> Iterator[int]:
    """A port on which something listens."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


async def app(scope: object, receive: object, send: object) -> None:
    """Never asked."""


async def test_a_taken_usual_port_gives_way_with_a_note(taken: int) -> None:
    """Two sandboxes start beside each other; the second says where its topics are."""
    server, note = await serve_at(
        FallbackPort("topics", taken, None), app, "127.0.0.1", on_failure=lambda _: None
    )
    assert server.port != taken
    assert note == f"port {taken} is in use, so topics answer at {server.url}"
    await server.close()


async def test_a_port_that_was_asked_for_is_had_or_refused(taken: int) -> None:
    """Whoever names a port is not given another one."""
    with pytest.raises(OSError, match=f"port {taken} on 127.0.0.1 is in use"):
        await serve_at(FallbackPort("topics", 1, taken), app, "127.0.0.1", on_failure=lambda _: None)
    server, note = await serve_at(
        FallbackPort("topics", taken, 0), app, "127.0.0.1", on_failure=lambda _: None
    )
    assert (server.port != taken, note) == (True, None)
    await server.close()
