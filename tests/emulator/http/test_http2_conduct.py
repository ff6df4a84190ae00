"""HTTP/2 from a client made by hand: what a GOAWAY and a reset end, and what is one frame too many."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable, Iterator
from typing import Any

import h2.config
import h2.connection
import h2.events
import h2.settings
import httpx
import pytest
from h2.errors import ErrorCodes

from emulator.http.asgi import ClientGoneError, answer, whole_body
from emulator.http.bounds.body_memory import ARRIVING
from emulator.http.bounds.client_limits import BODY_BYTES, USUAL, Rate
from emulator.http.server import Server

HEAD = [(":method", "POST"), (":path", "/"), (":scheme", "http"), (":authority", "x")]
GOAWAY = struct.pack(">I", 8)[1:] + b"\x07\x00\0\0\0\0" + bytes(8)
PING = struct.pack(">I", 8)[1:] + b"\x06\x00\0\0\0\0" + bytes(8)
FIRST_WINDOW = 65_535
"""Bytes that a stream may be sent before its reader makes room (RFC 9113 section 6.9.2)."""
QUICK = USUAL._replace(head_seconds=0.2, body_seconds=0.2, idle_seconds=0.2, unread_seconds=0.2)


class Client:
    """An HTTP/2 client that sends what it is told, frames of its own making among it."""

    def __init__(self, server: Server, *, knowing: bool = True) -> None:
        """``knowing`` is one that has read the server's settings."""
        self.socket = socket.create_connection((server.host, server.port), timeout=20)
        config = h2.config.H2Configuration(header_encoding="utf-8")
        self.frames = h2.connection.H2Connection(config)
        self.frames.initiate_connection()
        self.events: list[Any] = []
        self.ended = False
        self.flush()
        if knowing:
            self.read(lambda: self.frames.outbound_flow_control_window > 1 << 20)

    def flush(self) -> None:
        self.socket.sendall(self.frames.data_to_send())

    def request(self, path: str = "/", body: bytes | None = b"", **headers: str) -> int:
        """Begin a request; None leaves its body to be sent."""
        stream = self.frames.get_next_available_stream_id()
        head = [(name, path if name == ":path" else value) for name, value in HEAD]
        self.frames.send_headers(stream, [*head, *headers.items()], end_stream=body == b"")
        if body:
            self.frames.send_data(stream, body, end_stream=True)
        self.flush()
        return stream

    def raw(self, frame: bytes) -> None:
        self.socket.sendall(frame)

    def read(self, until: Callable[[], Any]) -> None:
        """Read, and enlarge the windows, until something holds or the server closes."""
        while not until() and not self.ended:
            data = self.socket.recv(65_536)
            self.ended = not data
            for event in self.frames.receive_data(data):
                self.events.append(event)
                if isinstance(event, h2.events.DataReceived):
                    self.frames.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            self.flush()

    def seen(self, kind: type, stream: int | None = None) -> list[Any]:
        return [
            each
            for each in self.events
            if isinstance(each, kind) and (stream is None or each.stream_id == stream)
        ]

    def body(self, stream: int) -> bytes:
        """The whole answer of a stream."""
        self.read(lambda: self.seen(h2.events.StreamEnded, stream))
        assert self.seen(h2.events.StreamEnded, stream), self.events[-3:]
        return b"".join(each.data for each in self.seen(h2.events.DataReceived, stream))

    def status(self, stream: int) -> str:
        self.read(lambda: self.seen(h2.events.ResponseReceived, stream))
        return dict(self.seen(h2.events.ResponseReceived, stream)[0].headers)[":status"]

    def end(self) -> tuple[int, bytes]:
        """The server's GOAWAY: code and reason, after which it has closed."""
        found: list[Any] = []

        def goaway() -> bool:
            found.extend(self.seen(h2.events.ConnectionTerminated))
            return bool(found)

        self.read(goaway)
        return found[0].error_code, found[0].additional_data or b""


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Iterator[None]:
    """Whatever became of the requests, the room that they took is given back."""
    yield
    assert ARRIVING.left == BODY_BYTES


@pytest.fixture
def connected() -> Iterator[Callable[..., Client]]:
    clients: list[Client] = []

    def connect(server: Server, **how: bool) -> Client:
        clients.append(Client(server, **how))
        return clients[-1]

    yield connect
    for client in clients:
        client.socket.close()


class Slow:
    """An application that answers ``/`` with what it was sent, and ``/held`` when it is told to."""

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.began = asyncio.Event()
        self.cancelled = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["path"] == "/go":
            self.go.set()
        if scope["path"] == "/began":
            await self.began.wait()
        try:
            body = await whole_body(receive)
        except ClientGoneError:
            self.cancelled += 1
            raise
        if scope["path"] != "/held":
            await answer(send, 200, [], body or b"%d" % self.cancelled)
            return
        self.began.set()
        if b"x-head-first" in dict(scope["headers"]):
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"first ", "more_body": True})
            await self.go.wait()
            await send({"type": "http.response.body", "body": bytes(300_000)})
        else:
            await self.go.wait()
            await answer(send, 200, [], bytes(300_000))


def go(server: Server, path: str = "/go") -> str:
    return httpx.get(f"{server.url}{path}", timeout=20, trust_env=False).text


def test_a_goaway_before_the_head_of_an_answer(
    served: Callable[..., Server], connected: Callable[..., Client]
) -> None:
    """The stream under way is answered whole, beyond the first window, and then the connection is closed."""
    server = served(Slow())
    client = connected(server)
    stream = client.request("/held")
    go(server, "/began")
    client.raw(GOAWAY)
    go(server)
    assert client.body(stream) == bytes(300_000)
    assert client.end()[0] == ErrorCodes.NO_ERROR
    client.read(lambda: False)


def test_a_goaway_after_the_head_of_an_answer(
    served: Callable[..., Server], connected: Callable[..., Client]
) -> None:
    """What Node does: the head is there, the session is closed gracefully, the body comes whole."""
    server = served(Slow())
    client = connected(server)
    stream = client.request("/held", **{"x-head-first": "1"})
    assert client.status(stream) == "200"
    client.raw(GOAWAY)
    go(server)
    assert client.body(stream) == b"first " + bytes(300_000)
    client.read(lambda: False)


def test_a_goaway_in_the_middle_of_a_body(
    served: Callable[..., Server], connected: Callable[..., Client]
) -> None:
    """An answer that waits for the client's window goes on when it is enlarged."""
    server = served(Slow())
    client = connected(server)
    stream = client.request("/", body=bytes(60_000))
    assert client.body(stream) == bytes(60_000)
    stream = client.request("/held")
    go(server)
    client.read(lambda: client.seen(h2.events.DataReceived, stream))
    client.raw(GOAWAY)
    client.raw(GOAWAY)
    assert client.body(stream) == bytes(300_000)


def test_a_goaway_with_uploads_under_way(
    served: Callable[..., Server], connected: Callable[..., Client]
) -> None:
    """Each may be sent to its end and is answered; a new stream is refused, and may be tried elsewhere."""
    server = served(Slow())
    client = connected(server)
    one, two = client.request(body=None), client.request(body=None)
    client.raw(GOAWAY)
    new = client.request()
    client.read(lambda: client.seen(h2.events.StreamReset, new))
    assert client.seen(h2.events.StreamReset, new)[0].error_code == ErrorCodes.REFUSED_STREAM
    for stream in (two, one):
        client.frames.send_data(stream, b"body %d" % stream, end_stream=True)
        client.flush()
        assert client.body(stream) == b"body %d" % stream
    assert client.end()[0] == ErrorCodes.NO_ERROR


def test_a_goaway_with_nothing_under_way_closes_the_connection(
    served: Callable[..., Server], connected: Callable[..., Client]
) -> None:
    """There is nothing to wait for; a GOAWAY that is none is an error."""
    server = served(Slow())
    client = connected(server)
    client.raw(GOAWAY)
    assert client.end()[0] == ErrorCodes.NO_ERROR
    broken = connected(server)
    broken.raw(b"\0\0\x04\x07\0\0\0\0\0" + bytes(4))
    assert broken.end()[0] != ErrorCodes.NO_ERROR


def test_a_cancelled_upload_ends_its_stream_and_no_other(
    served: Callable[..., Server], connected: Callable[..., Client]
) -> None:
    """Its application is told; what it had sent of it no longer narrows the connection's window."""
    server = served(Slow())
    client = connected(server)
    kept = client.request(body=None)
    for _ in range(20):
        cancelled = client.request(body=None)
        for _ in range(64):
            client.read(lambda: client.frames.outbound_flow_control_window >= 16_000)
            client.frames.send_data(cancelled, bytes(16_000))
            client.flush()
        client.frames.reset_stream(cancelled, ErrorCodes.CANCEL)
        client.flush()
    client.frames.send_data(kept, b"kept", end_stream=True)
    client.flush()
    assert client.body(kept) == b"kept"


RATES = USUAL._replace(
    resets=Rate(20, 0),
    pings=Rate(20, 0),
    settings=Rate(20, 0),
    priorities=Rate(20, 0),
    empty_frames=Rate(20, 0),
    window_updates=Rate(20, 0),
)


@pytest.mark.parametrize(
    ("frame", "why"),
    [
        pytest.param(PING, b"pings", id="pings"),
        pytest.param(b"\0\0\0\x04\0\0\0\0\0", b"settings", id="settings"),
        pytest.param(b"\0\0\x05\x02\0\0\0\0\x01\0\0\0\0\x10", b"priorities", id="priorities"),
        pytest.param(b"\0\0\x04\x08\0\0\0\0\0\0\0\0\x01", b"windows", id="window updates"),
        pytest.param(b"\0\0\0\x00\0\0\0\0\x01", b"without data", id="empty frames"),
        pytest.param(b"\0\0\x01\xfa\0\0\0\0\0x", b"unknown", id="unknown frames"),
        pytest.param(b"\0\0\x04\x03\0\0\0\0\x01" + bytes(4), b"cancelled", id="resets of one stream"),
    ],
)
def test_frames_that_ask_for_nothing_are_counted(
    served: Callable[..., Server], connected: Callable[..., Client], frame: bytes, why: bytes
) -> None:
    """GOAWAY with ENHANCE_YOUR_CALM and the reason, after as many as are allowed (RFC 9113 section 10.5)."""
    server = served(Slow(), limits=RATES)
    client = connected(server)
    client.request(body=None)
    client.raw(frame * 10)
    go(server)
    client.raw(frame * 30)
    code, said = client.end()
    assert code == ErrorCodes.ENHANCE_YOUR_CALM
    assert why in said
    assert go(server)


def test_requests_cancelled_as_they_are_made(
    served: Callable[..., Server], connected: Callable[..., Client]
) -> None:
    """Rapid reset: by the client, or by the server that is made to (a window too large)."""
    server = served(Slow(), limits=RATES)
    for spoil in (
        lambda client, stream: client.frames.reset_stream(stream, ErrorCodes.CANCEL),
        lambda client, stream: client.raw(
            b"\0\0\x04\x08\0" + struct.pack(">I", stream) + b"\x7f\xff\xff\xff"
        ),
    ):
        client = connected(server)
        with pytest.raises((OSError, h2.exceptions.ProtocolError)):  # noqa: PT012 -- at some point it has ended
            for _ in range(200):
                spoil(client, client.request(body=None))
                client.flush()
            client.read(lambda: False)
            raise OSError
        assert go(server)


def test_headers_of_too_many_bytes_end_the_connection(
    served: Callable[..., Server], connected: Callable[..., Client]
) -> None:
    """CONTINUATION without end, of frames full or empty."""
    server = served(Slow())
    for piece in (b"", bytes(16_000)):
        client = connected(server)
        client.raw(b"\0\0\x01\x01\0\0\0\0\x01\x82")
        frame = struct.pack(">I", len(piece))[1:] + b"\x09\0\0\0\0\x01" + piece
        try:
            for _ in range(100):
                client.raw(frame)
        except OSError:
            continue
        assert client.end()[0] != ErrorCodes.NO_ERROR


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/", {f"a{i}": "b" for i in range(600)}, "431"),
        ("/", {f"a{i}": "b" * 8000 for i in range(9)}, "431"),
        ("/" + "a" * 17_000, {}, "414"),
        ("/" + "a" * 16_000, {f"a{i}": "b" for i in range(490)}, "200"),
    ],
)
def test_a_head_that_is_too_long_is_refused_and_the_connection_goes_on(
    served: Callable[..., Server],
    connected: Callable[..., Client],
    path: str,
    headers: dict[str, str],
    status: str,
) -> None:
    """As over HTTP/1.1; other streams do not notice."""
    client = connected(served(Slow()))
    other = client.request(body=None)
    stream = client.request(path, **headers)
    assert client.status(stream) == status
    client.frames.send_data(other, b"other", end_stream=True)
    client.flush()
    assert client.body(other) == b"other"


def test_streams_beyond_what_is_taken_are_refused_one_by_one(
    served: Callable[..., Server], connected: Callable[..., Client]
) -> None:
    """A client that asks for more than it may before it knows: the others are answered."""
    client = connected(served(Slow(), limits=USUAL._replace(streams=10)), knowing=False)
    streams = []
    for _ in range(15):
        stream = client.frames.get_next_available_stream_id()
        client.frames.send_headers(stream, HEAD)
        streams.append(stream)
    client.flush()
    client.read(lambda: len(client.seen(h2.events.StreamReset)) == 5)
    refused = client.seen(h2.events.StreamReset)
    assert [each.stream_id for each in refused] == streams[10:]
    assert {each.error_code for each in refused} == {ErrorCodes.REFUSED_STREAM}
    for stream in streams[:10]:
        client.frames.send_data(stream, b"%d" % stream, end_stream=True)
        client.flush()
        assert client.body(stream) == b"%d" % stream


def test_answers_that_may_not_be_sent_are_bounded(
    served: Callable[..., Server], connected: Callable[..., Client]
) -> None:
    """While a client reads no more than the half of them, it is not answered anything new."""
    server = served(Slow(), limits=USUAL._replace(unsent_bytes=100_000))
    client = connected(server)
    held = client.request("/held")
    go(server)
    while sum(len(each.data) for each in client.seen(h2.events.DataReceived, held)) < FIRST_WINDOW:
        client.events += client.frames.receive_data(client.socket.recv(65_536))
    refused = client.request()
    while not client.seen(h2.events.StreamReset, refused):
        client.events += client.frames.receive_data(client.socket.recv(65_536))
    assert client.seen(h2.events.StreamReset, refused)[0].error_code == ErrorCodes.REFUSED_STREAM
    for each in client.seen(h2.events.DataReceived):
        client.frames.acknowledge_received_data(each.flow_controlled_length, each.stream_id)
    client.flush()
    assert client.body(held) == bytes(300_000)
    assert client.body(client.request())


@pytest.mark.parametrize(
    "begun",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"\0\0\x08\x06\0", id="half a frame"),
        pytest.param(b"\0\0\x01\x01\0\0\0\0\x01\x82", id="half a head"),
    ],
)
def test_who_says_no_more_is_not_waited_for(
    served: Callable[..., Server], connected: Callable[..., Client], begun: bytes
) -> None:
    """An idle connection, a frame and a head have their times."""
    client = connected(served(Slow(), limits=QUICK))
    client.raw(begun)
    assert client.end()[0] == ErrorCodes.NO_ERROR


def test_a_body_that_does_not_come_ends_its_stream(
    served: Callable[..., Server], connected: Callable[..., Client]
) -> None:
    """And so does an answer that is not read; another stream is still answered."""
    server = served(Slow(), limits=QUICK._replace(idle_seconds=20))
    client = connected(server)
    stream = client.request(body=None)
    client.read(lambda: client.seen(h2.events.StreamReset, stream))
    assert client.seen(h2.events.StreamReset, stream)
    unread = client.request("/held")
    go(server)
    while not client.seen(h2.events.StreamReset, unread):
        client.events += client.frames.receive_data(client.socket.recv(65_536))
    client.frames.increment_flow_control_window(1_000_000)
    client.flush()
    assert client.body(client.request())


def test_a_body_that_there_is_no_room_for_ends_its_stream(
    served: Callable[..., Server], connected: Callable[..., Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory for what arrives is bounded over all connections: 503 with the reason."""
    server = served(Slow())
    monkeypatch.setattr(ARRIVING, "left", 50_000)
    client = connected(server)
    stream = client.request(body=None)
    for _ in range(4):
        client.frames.send_data(stream, bytes(16_000))
    client.flush()
    assert client.status(stream) == "503"
    monkeypatch.undo()
    assert client.body(client.request())
