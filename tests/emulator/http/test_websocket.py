"""WebSocket on our port, seen by a real client: messages, closing, refusals, back-pressure."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from emulator.http.asgi import answer
from emulator.http.server import Server, serve
from emulator.http.websocket import websocket_protocol
from tests.emulator.endpoint_fixtures import Endpoint

SECONDS = 60


@asynccontextmanager
async def running(app: Any, **settings: Any) -> AsyncIterator[Server]:
    server = await serve(app, "127.0.0.1", 0, sockets=True, **settings)
    try:
        yield server
    finally:
        await server.close(2.0)


def client(server: Server, path: str = "/", **settings: Any) -> connect:
    return connect(f"ws://127.0.0.1:{server.port}{path}", proxy=None, open_timeout=SECONDS, **settings)


async def echo(socket: WebSocket) -> None:
    """Say back what is said, in the frame type it came in."""
    await socket.accept(
        subprotocol=next(iter(socket.scope["subprotocols"]), None), headers=[(b"x-mine", b"1")]
    )
    while (message := await socket.receive())["type"] == "websocket.receive":
        await socket.send({**message, "type": "websocket.send"})


def starlette(endpoint: Endpoint) -> Starlette:
    return Starlette(
        routes=[
            WebSocketRoute("/", endpoint),
            Route("/", lambda _: PlainTextResponse("over http")),
        ]
    )


@pytest.mark.parametrize("said", ["", "hello", "\u20ac\U0001f600" * 1000, b"\x00\xff", b"", "x" * 300_000])
async def test_what_is_said_comes_back(said: str | bytes) -> None:
    """Text and bytes of any length arrive whole, both ways, through starlette's own endpoint."""
    async with running(starlette(echo)) as server, client(server) as peer:
        await peer.send(said)
        assert await peer.recv() == said


async def test_a_message_in_pieces_arrives_whole() -> None:
    """Fragments of one message are one message to the application, also with a ping between them."""
    async with running(starlette(echo)) as server, client(server) as peer:
        await peer.send(["one ", "two ", "\u20ac"])
        await (await peer.ping())
        assert await peer.recv() == "one two \u20ac"


async def test_the_application_chooses_a_subprotocol_and_headers() -> None:
    """What was offered in the handshake reaches the application, and its choice the client."""
    async with running(starlette(echo)) as server, client(server, subprotocols=["a", "b"]) as peer:
        assert peer.subprotocol == "a"
        assert peer.response is not None
        assert peer.response.headers["x-mine"] == "1"


async def test_the_address_and_query_reach_the_application() -> None:
    """A websocket scope has path, query and headers like a request's."""

    async def told(socket: WebSocket) -> None:
        await socket.accept()
        await socket.send_text(f"{socket.url.path} {socket.query_params['q']} {socket.headers['x-who']}")
        await socket.close(4001, "told")

    app = Starlette(routes=[WebSocketRoute("/{rest:path}", told)])
    sent = {"x-who": "me"}
    async with running(app) as server, client(server, "/a%20b?q=1", additional_headers=sent) as peer:
        assert await peer.recv() == "/a b 1 me"
        with pytest.raises(ConnectionClosed) as closed:
            await peer.recv()
    assert closed.value.rcvd is not None
    assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (4001, "told")


async def test_plain_requests_are_served_on_the_same_port() -> None:
    """HTTP goes on beside WebSocket, with keep-alive."""
    async with (
        running(starlette(echo)) as server,
        httpx.AsyncClient(base_url=server.url, trust_env=False) as http,
        client(server) as peer,
    ):
        assert (await http.get("/")).text == "over http"
        await peer.send("still here")
        assert await peer.recv() == "still here"


@pytest.mark.parametrize(("code", "seen"), [(1000, 1000), (4321, 4321), (None, 1006)])
async def test_the_application_learns_how_the_client_left(code: int | None, seen: int) -> None:
    """A close code of the client's arrives; a connection that breaks is 1006."""
    left: asyncio.Queue[int] = asyncio.Queue()

    async def listen(socket: WebSocket) -> None:
        await socket.accept()
        try:
            await socket.receive_text()
        except WebSocketDisconnect as disconnect:
            left.put_nowait(disconnect.code)

    async with running(starlette(listen)) as server, asyncio.timeout(SECONDS):
        async with client(server) as peer:
            if code is None:
                peer.transport.abort()
            else:
                await peer.close(code)
        assert await left.get() == seen


async def test_a_server_that_stops_says_so() -> None:
    """A client of a stopping sandbox gets 1001, and the application learns that it is over."""
    left: list[int] = []

    async def listen(socket: WebSocket) -> None:
        await socket.accept()
        await socket.send_text("hello")
        left.append((await socket.receive())["code"])

    async with running(starlette(listen)) as server, client(server) as peer:
        await peer.recv()
        await server.close(5.0)
        assert peer.close_code == 1001
    assert left == [1001]


async def test_too_long_a_message_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the limit a message is not gathered: the connection is closed with 1009, and told the limit."""
    monkeypatch.setattr(websocket_protocol, "MESSAGE_BYTES", 1000)
    async with running(starlette(echo)) as server, client(server) as peer:
        await peer.send("\u20ac" * 333)
        assert len(await peer.recv()) == 333
        await peer.send("\u20ac" * 334)
        with pytest.raises(ConnectionClosed):
            await peer.recv()
        assert peer.close_code == 1009
        assert "1002 bytes exceeds limit of 1000 bytes" in (peer.close_reason or "")


async def test_an_application_that_fails_closes_with_1011() -> None:
    """An error nobody foresaw is told to the owner of the port, and the client sees 1011."""
    failures: list[Exception] = []

    async def fail(socket: WebSocket) -> None:
        await socket.accept()
        raise RuntimeError("no")

    async with running(starlette(fail), on_failure=failures.append) as server, client(server) as peer:
        with pytest.raises(ConnectionClosed):
            await peer.recv()
        assert peer.close_code == 1011
    assert [str(failure) for failure in failures] == ["no"]


async def test_an_application_may_refuse_the_handshake() -> None:
    """Closing before accepting is 403; a response of the application's own arrives as it is."""

    async def choosy(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        if scope["path"] == "/answered":
            await answer(send, 401, [(b"x-why", b"token")], b"whose token?")
        elif scope["path"] == "/failed":
            raise RuntimeError
        else:
            await send({"type": "websocket.close"})

    async with running(choosy) as server:
        for path, status, body in (
            ("/answered", 401, b"whose token?"),
            ("/closed", 403, b"Forbidden\n"),
            ("/failed", 500, b"Internal Server Error\n"),
        ):
            with pytest.raises(InvalidStatus) as refused:
                await client(server, path)
            assert (refused.value.response.status_code, refused.value.response.body) == (status, body)


@pytest.mark.parametrize(
    ("headers", "status", "why"),
    [
        ({"sec-websocket-version": "8", "sec-websocket-key": "x"}, 426, "its version is not 13"),
        ({"sec-websocket-version": "13"}, 400, "missing Sec-WebSocket-Key header"),
        ({"sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ=="}, 400, "missing Sec-WebSocket-Version header"),
        ({"x-long": "a" * 10_000}, 431, "its headers are too long"),
    ],
)
async def test_a_broken_handshake_is_refused(headers: dict[str, str], status: int, why: str) -> None:
    """An offer that lacks what RFC 6455 section 4.2.1 asks for is told so."""
    async with (
        running(starlette(echo)) as server,
        httpx.AsyncClient(base_url=server.url, trust_env=False) as http,
    ):
        refused = await http.get("/", headers={"connection": "Upgrade", "upgrade": "websocket", **headers})
    assert refused.status_code == status
    assert refused.text == f"This is no WebSocket handshake: {why}\n"
    assert refused.headers["sec-websocket-version"] == "13"


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        (b"\x81\x02hi", 1002),  # a client's frame that is not masked
        (b"\x83\x80\x00\x00\x00\x00", 1002),  # an opcode that is none
        (b"\x81\x82\x00\x00\x00\x00\xc3\x28", 1007),  # text that is not UTF-8
    ],
)
async def test_what_is_against_the_protocol_fails_the_connection(frame: bytes, code: int) -> None:
    """The client is closed with the code that says how it broke the protocol; the application learns it."""
    left: asyncio.Queue[int] = asyncio.Queue()

    async def listen(socket: WebSocket) -> None:
        await socket.accept()
        left.put_nowait((await socket.receive())["code"])

    async with running(starlette(listen)) as server, client(server) as peer, asyncio.timeout(SECONDS):
        peer.transport.write(frame)
        assert await left.get() == code
        await peer.wait_closed()
        assert peer.close_code == code


async def test_no_bytes_bring_the_port_down() -> None:
    """Whatever comes after a handshake, nothing fails unforeseen, and the next client is served."""
    failures: list[Exception] = []
    handshake = (
        b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: upgrade\r\nupgrade: websocket\r\n"
        b"sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
    frames = (b"", b"\x81\x85", b"\x02\x81\x00\x00\x00\x00", b"\x89\xfe\x00\x80", b"\x88\x81\x00\x00\x00\x00")
    async with running(starlette(echo), on_failure=failures.append) as server, asyncio.timeout(60):
        for number in range(60):
            noise = hashlib.shake_128(bytes([number])).digest(number * 7)
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(handshake + frames[number % len(frames)] + noise)
            writer.write_eof()
            await reader.read()
            writer.close()
        async with client(server) as peer:
            await peer.send("still here")
            assert await peer.recv() == "still here"
    assert failures == []


async def test_a_slow_reader_holds_the_sender_back() -> None:
    """An application sends no further than a client that does not read can take."""
    sent = 0
    stuck = asyncio.Event()

    async def pour(socket: WebSocket) -> None:
        nonlocal sent
        await socket.accept()
        for _ in range(2000):
            sent += 1
            task = asyncio.ensure_future(socket.send_bytes(bytes(50_000)))
            _, waiting = await asyncio.wait([task], timeout=1.0)
            if waiting:
                stuck.set()
            await task

    async with running(starlette(pour)) as server, client(server, max_queue=1) as peer, asyncio.timeout(60):
        await stuck.wait()
        assert sent < 1000
        assert [len(await peer.recv()) for _ in range(2000)] == [50_000] * 2000


async def test_a_slow_application_holds_the_client_back() -> None:
    """What the application has not taken is bounded: the client waits, and nothing is lost."""
    go = asyncio.Event()
    total = 0

    async def count(socket: WebSocket) -> None:
        nonlocal total
        await socket.accept()
        await go.wait()
        for _ in range(400):
            total += len(await socket.receive_bytes())
        await socket.close()

    async with running(starlette(count)) as server, client(server) as peer, asyncio.timeout(60):

        async def pour() -> None:
            for _ in range(400):
                await peer.send(bytes(50_000))

        pouring = asyncio.create_task(pour())
        _, waiting = await asyncio.wait([pouring], timeout=1.0)
        assert waiting
        go.set()
        await pouring
        await peer.wait_closed()
    assert total == 400 * 50_000


async def test_a_client_that_answers_no_ping_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection whose other end is gone without a word ends, so that nothing is kept for it."""
    monkeypatch.setattr(websocket_protocol, "PING_SECONDS", 0.05)
    left: asyncio.Queue[int] = asyncio.Queue()

    async def listen(socket: WebSocket) -> None:
        await socket.accept()
        left.put_nowait((await socket.receive())["code"])

    async with running(starlette(listen)) as server, asyncio.timeout(SECONDS):
        async with client(server) as peer:
            await (await peer.ping())
        assert await left.get() == 1000
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(
            b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: upgrade\r\nupgrade: websocket\r\n"
            b"sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        )
        assert b"101 Switching" in await reader.readline()
        assert await left.get() == 1006
        writer.close()


def test_a_port_without_websockets_answers_the_request(served: Callable[..., Server]) -> None:
    """Where an application knows none, an offer to upgrade is answered as if it had not been made."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await answer(send, 200, [], scope["type"].encode())

    headers = {"connection": "Upgrade", "upgrade": "websocket"}
    with httpx.Client(base_url=served(app).url, trust_env=False) as http:
        assert http.get("/", headers=headers).text == "http"
