"""What a client of a WebSocket may not do, and with which code it is told."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import httpx
import pytest

from emulator.http.asgi import answer
from emulator.http.bounds.body_memory import ARRIVING
from emulator.http.bounds.client_limits import BODY_BYTES, USUAL, Rate
from emulator.http.server import Server, serve

MASK = bytes(4)
FEW = USUAL._replace(fragments=Rate(20, 0), socket_pings=Rate(20, 0))


async def echo(scope: Any, receive: Any, send: Any) -> None:
    """Say back every text; over HTTP, how much room for messages is taken."""
    if scope["type"] == "http":
        await answer(send, 200, [], b"%d" % (BODY_BYTES - ARRIVING.left))
        return
    await receive()
    await send({"type": "websocket.accept"})
    while (message := await receive())["type"] == "websocket.receive":
        await send({"type": "websocket.send", "text": message["text"]})


pytestmark = pytest.mark.parametrize("served", [partial(serve, sockets=True)], indirect=True, ids=["sockets"])


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Iterator[None]:
    """Whatever became of the messages, the room that they took is given back."""
    yield
    assert ARRIVING.left == BODY_BYTES


Shaken = Callable[..., tuple[Server, socket.socket]]


@pytest.fixture
def shaken(served: Callable[..., Server]) -> Iterator[Shaken]:
    """A server with these limits, and a WebSocket to it."""
    connections: list[socket.socket] = []

    def shake(**settings: Any) -> tuple[Server, socket.socket]:
        server = served(echo, **settings)
        connection = socket.create_connection((server.host, server.port), timeout=20)
        connections.append(connection)
        connection.sendall(
            b"GET / HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n"
            b"sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        )
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += connection.recv(1)
        assert head.startswith(b"HTTP/1.1 101 ")
        assert b"\r\ndate: " in head.lower()
        return server, connection

    yield shake
    for connection in connections:
        connection.close()


def frame(first: int, payload: bytes = b"") -> bytes:
    assert len(payload) < 126
    return bytes((first, 0x80 | len(payload))) + MASK + payload


def rest(connection: socket.socket) -> bytes:
    """What comes until the server closes."""
    received = b""
    while piece := connection.recv(65_536):
        received += piece
    return received


@pytest.mark.parametrize(
    ("first", "again", "why"),
    [
        pytest.param(frame(0x01, b"a"), frame(0x00, b"a"), b"too many fragments", id="fragments of a byte"),
        pytest.param(frame(0x01), frame(0x00), b"too many fragments", id="empty fragments"),
        pytest.param(b"", frame(0x89), b"too many pings", id="pings"),
        pytest.param(b"", frame(0x8A), b"too many pings", id="pongs"),
    ],
)
def test_frames_that_say_nothing_are_counted(shaken: Shaken, first: bytes, again: bytes, why: bytes) -> None:
    """Close with 1008 and the reason, read though the client is still sending; others do not notice."""
    server, connection = shaken(limits=FEW)
    connection.sendall(first + again * 10)
    assert httpx.get(server.url, trust_env=False).status_code == 200
    connection.sendall(again * 5000)
    assert rest(connection).endswith(b"\x88" + bytes((2 + len(why),)) + b"\x03\xf0" + why)


def test_as_many_as_are_allowed_are_taken(shaken: Shaken) -> None:
    """A message in pieces, with pings between them, comes whole."""
    _, connection = shaken(limits=FEW)
    connection.sendall(frame(0x01, b"a") + (frame(0x89) + frame(0x00, b"b")) * 18 + frame(0x80, b"c"))
    received = b""
    while b"a" + b"b" * 18 + b"c" not in received:
        received += connection.recv(65_536)


def test_messages_of_no_bytes_do_not_pile_up(shaken: Shaken) -> None:
    """200,000 of them, which are answered one by one: in order, and others are served in between."""
    server, connection = shaken()
    connection.settimeout(60)
    connection.sendall(frame(0x81) * 10_000)
    assert httpx.get(server.url, trust_env=False).status_code == 200
    received = 0
    while received < 2 * 10_000:
        received += len(connection.recv(65_536))


def test_a_message_that_is_not_finished_is_not_waited_for(shaken: Shaken) -> None:
    """Nor is what came of it kept."""
    server, connection = shaken(limits=USUAL._replace(body_seconds=0.3))
    connection.sendall(frame(0x01, b"a" * 100))
    assert b"in time" in rest(connection)
    assert httpx.get(server.url, trust_env=False).text == "0"


def test_messages_that_there_is_no_room_for_are_refused(
    shaken: Shaken, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Close with 1013: try again later."""
    _, connection = shaken()
    monkeypatch.setattr(ARRIVING, "left", 250)
    connection.sendall(frame(0x01, b"a" * 100) + frame(0x00, b"a" * 100) * 3)
    assert b"\x03\xf5more than" in rest(connection)
    assert ARRIVING.left == 250


def test_who_reads_no_pongs_sends_no_more_pings(shaken: Shaken) -> None:
    """What is not read is not added to: the client waits, and later it goes on."""
    _, connection = shaken(limits=USUAL._replace(socket_pings=Rate(10_000_000, 0)))
    connection.settimeout(1)
    burst = frame(0x89, b"x" * 125) * 5000
    sent = 0
    with suppress(TimeoutError):
        while sent < 100_000_000:
            sent += connection.send(burst)
    assert sent < 100_000_000
    connection.settimeout(20)
    assert connection.recv(127) == b"\x8a\x7d" + b"x" * 125
