"""One port, two versions of HTTP: what a client of either sees."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import h2.connection
import h2.events
import httpx
import pytest

from emulator.http.asgi import ClientGoneError, Message, answer, whole_body
from emulator.http.server import Server, serve

VERSIONS = pytest.mark.parametrize("http2", [False, True], ids=["http1", "h2c"])


async def echo(scope: Any, receive: Any, send: Any) -> None:
    body = await whole_body(receive)
    told = f"{scope['method']} {scope['path']} {scope['query_string'].decode()} {len(body)}".encode()
    await answer(send, 200, [(b"x-told", told)], body)


def client(server: Server, *, http2: bool) -> httpx.Client:
    return httpx.Client(base_url=server.url, http1=not http2, http2=http2, timeout=20, trust_env=False)


@VERSIONS
def test_a_request_arrives_as_it_was_sent(served: Callable[..., Server], http2: bool) -> None:
    """Method, path with escapes, query and body reach the application; the body comes back."""
    with client(served(echo), http2=http2) as http:
        response = http.put("/a%20b/c?x=1&y", content=b"hello")
    assert response.headers["x-told"] == "PUT /a b/c x=1&y 5"
    assert response.content == b"hello"


@VERSIONS
@pytest.mark.parametrize("size", [0, 1, 65_535, 3_000_000])
def test_bodies_of_any_size_come_back_whole(served: Callable[..., Server], http2: bool, size: int) -> None:
    """Flow control, chunks and frames lose and reorder nothing."""
    body = bytes(i % 251 for i in range(size))
    with client(served(echo), http2=http2) as http:
        assert http.post("/", content=body).content == body
        assert http.post("/", content=(body[i : i + 70_000] for i in range(0, size, 70_000))).content == body


def test_a_body_too_long_to_be_held_is_streamed(served: Callable[..., Server]) -> None:
    """The application gets it in pieces as it arrives."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        lengths = []
        more = True
        while more:
            message = await receive()
            lengths.append(len(message["body"]))
            more = message["more_body"]
        await answer(send, 200, [], b"%d in %d" % (sum(lengths), len(lengths)))

    with client(served(app), http2=False) as http:
        total, pieces = http.post("/", content=bytes(17_000_000)).text.split(" in ")
    assert total == "17000000"
    assert int(pieces) > 1


@VERSIONS
def test_many_requests_at_once_get_their_own_answers(served: Callable[..., Server], http2: bool) -> None:
    """Streams of one connection, and connections of one client, do not mix."""
    server = served(echo)
    bodies = [str(i).encode() * (1 + i * 700) for i in range(60)]

    async def ask() -> list[bytes]:
        # Not in threads: httpx has no lock around the state of an HTTP/2 connection that they share.
        async with httpx.AsyncClient(
            base_url=server.url, http1=not http2, http2=http2, timeout=20, trust_env=False
        ) as http:
            answers = await asyncio.gather(*(http.post("/", content=body) for body in bodies))
            return [each.content for each in answers]

    assert asyncio.run(ask()) == bodies


@VERSIONS
def test_a_streamed_response_arrives_piece_by_piece(served: Callable[..., Server], http2: bool) -> None:
    """The client has the first piece before the application writes the second."""
    read_first = asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["path"] == "/go":
            read_first.set()
            await answer(send, 200, [], b"")
            return
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"one", "more_body": True})
        await read_first.wait()
        await send({"type": "http.response.body", "body": b"two"})

    server = served(app)
    with client(server, http2=http2) as http, http.stream("GET", "/") as response:
        pieces = response.iter_raw()
        assert next(pieces) == b"one"
        assert httpx.get(f"{server.url}/go").status_code == 200
        assert b"".join(pieces) == b"two"


@VERSIONS
def test_the_application_learns_that_the_client_left(served: Callable[..., Server], http2: bool) -> None:
    """A client that closes in the middle of a stream ends the request."""
    seen: asyncio.Queue[Message] = asyncio.Queue()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["path"] == "/seen":
            await answer(send, 200, [], (await seen.get())["type"].encode())
            return
        await whole_body(receive)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"one", "more_body": True})
        seen.put_nowait(await receive())

    server = served(app)
    with client(server, http2=http2) as http, http.stream("GET", "/") as response:
        next(response.iter_raw())
    assert httpx.get(f"{server.url}/seen").content == b"http.disconnect"


@VERSIONS
def test_an_aborted_connection_closes_without_an_answer(served: Callable[..., Server], http2: bool) -> None:
    """What the disconnect fault does: the client sees its connection break."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await whole_body(receive)
        raise ClientGoneError

    failures: list[Exception] = []
    with (
        client(served(app, on_failure=failures.append), http2=http2) as http,
        pytest.raises(httpx.TransportError),
    ):
        http.get("/")
    assert not failures


@VERSIONS
def test_a_failing_application_gives_a_bare_500(served: Callable[..., Server], http2: bool) -> None:
    """No traceback reaches the client; whoever opened the port is told."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        raise ValueError("secret")

    failures: list[Exception] = []
    with client(served(app, on_failure=failures.append), http2=http2) as http:
        response = http.get("/")
    assert (response.status_code, response.text) == (500, "Internal Server Error\n")
    assert [str(failure) for failure in failures] == ["secret"]


@VERSIONS
def test_head_has_headers_and_no_body(served: Callable[..., Server], http2: bool) -> None:
    """HEAD keeps the content-length of what GET would give, and the connection stays good."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await answer(send, 200, [(b"content-length", b"11")], b"hello world")

    with client(served(app), http2=http2) as http:
        assert http.head("/").headers["content-length"] == "11"
        assert http.get("/").content == b"hello world"


def exchange(server: Server, request: bytes, ends: bytes = b"") -> bytes:
    """What comes back for raw bytes, up to ``ends`` or the connection's end."""
    with socket.create_connection((server.host, server.port), timeout=10) as connection:
        connection.sendall(request)
        received = b""
        while piece := connection.recv(65_536):
            received += piece
            if ends and ends in received:
                break
    return received


@pytest.mark.parametrize("length", [3, 300_000])
def test_pipelined_requests_are_answered_in_order(served: Callable[..., Server], length: int) -> None:
    """A client may send the next request before it has the answer (RFC 9112 section 9.3.2)."""
    head = b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n%b\r\n"
    one = head % (length, b"") + b"1" * length
    two = head % (length, b"connection: close\r\n") + b"2" * length
    with ThreadPoolExecutor(1) as pool:
        received = pool.submit(exchange, served(echo), one + two).result(30)
    assert received.count(b"HTTP/1.1 200 OK") == 2
    assert received.index(b"1" * length) < received.index(b"2" * length)


def test_100_continue_is_sent_when_the_body_is_wanted(served: Callable[..., Server]) -> None:
    """Clients that ask before they send, as the Java SDK does for S3, are told to go on."""
    server = served(echo)
    head = (
        b"PUT / HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\nexpect: 100-continue\r\nconnection: close\r\n\r\n"
    )
    with socket.create_connection((server.host, server.port), timeout=10) as connection:
        connection.sendall(head)
        assert connection.recv(1024) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(b"body")
        with connection.makefile("rb") as answered:
            assert answered.read().endswith(b"body")


def test_a_body_that_ends_while_enough_of_it_is_held_does_not_end_the_connection(
    served: Callable[..., Server],
) -> None:
    """Its reader is slow, and takes the rest at once: what is sent after it is read all the same."""
    go = asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["path"] == "/go":
            go.set()
            await answer(send, 200, [], b"")
            return
        first = await receive()
        await go.wait()
        go.clear()
        length = len(first["body"])
        while (message := await receive())["more_body"]:
            length += len(message["body"])
        await answer(send, 200, [], b"%d" % (length + len(message["body"])))

    server, size = served(app), (1 << 20) + 10
    head = b"PUT / HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: %d\r\n\r\n" % (size + 1)
    with socket.create_connection((server.host, server.port), timeout=10) as connection:
        for _ in range(10):
            connection.sendall(head)
            assert b"100 Continue" in connection.recv(1024)
            connection.sendall(b"1")
            connection.sendall(bytes(size))
            httpx.get(f"{server.url}/go", trust_env=False)
            answered = connection.recv(65_536)
            while not answered.endswith(b"%d" % (size + 1)):
                piece = connection.recv(65_536)
                assert piece
                answered += piece


def test_an_offer_to_upgrade_is_declined(served: Callable[..., Server]) -> None:
    """A client that offers h2c by Upgrade gets its answer in HTTP/1.1, and the next one too."""
    offer = (
        b"POST / HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: h2c\r\ncontent-length: 3\r\n\r\nabc"
    )
    last = b"GET /next HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"
    received = exchange(served(echo), offer + last)
    assert b"abc" in received
    assert b"x-told: GET /next" in received


@pytest.mark.parametrize("garbage", [b"\x16\x03\x01 not http at all\r\n\r\n", b"PRI * HTTP/9\r\n\r\n"])
def test_garbage_is_refused_and_the_port_lives_on(served: Callable[..., Server], garbage: bytes) -> None:
    """A TLS hello or a port scan gets a 400 and does not hurt the next client."""
    server = served(echo)
    assert exchange(server, garbage).startswith(b"HTTP/1.1 400 Bad Request")
    assert httpx.get(server.url).status_code == 200


def test_an_http2_preface_in_two_pieces_is_recognised(served: Callable[..., Server]) -> None:
    """Whatever way the first bytes are cut, the protocol is told right."""
    server = served(echo)
    with socket.create_connection((server.host, server.port), timeout=10) as connection:
        connection.sendall(b"PRI * HTTP/2.0\r\n\r\n")
        connection.sendall(b"SM\r\n\r\n" + bytes.fromhex("000000040000000000"))
        assert connection.recv(65_536)[3] == 4


def test_a_long_frame_may_follow_the_acknowledged_settings_at_once(served: Callable[..., Server]) -> None:
    """A client that acknowledges our settings and uses them in the same write is served (RFC 9113 6.5.3)."""
    server = served(echo)
    frames = h2.connection.H2Connection()
    frames.initiate_connection()
    head = [(":method", "POST"), (":path", "/"), (":scheme", "http"), (":authority", "x")]
    with socket.create_connection((server.host, server.port), timeout=10) as connection:
        connection.sendall(frames.data_to_send())
        while frames.max_outbound_frame_size <= 50_000:
            frames.receive_data(connection.recv(65_536))
        frames.send_headers(1, head)
        frames.send_data(1, bytes(50_000), end_stream=True)
        connection.sendall(frames.data_to_send())
        events: list[Any] = []
        while not any(
            isinstance(event, (h2.events.StreamEnded, h2.events.ConnectionTerminated)) for event in events
        ):
            events += frames.receive_data(connection.recv(65_536))
    assert isinstance(events[-1], h2.events.StreamEnded)


async def test_a_port_in_use_is_said_plainly() -> None:
    """The message names the port and says what to do."""
    first = await serve(echo, "127.0.0.1", 0)
    with pytest.raises(
        OSError, match=rf"port {first.port} on 127.0.0.1 is in use; stop .* or choose another"
    ):
        await serve(echo, "127.0.0.1", first.port)
    await first.close()


async def test_closing_lets_a_request_under_way_end() -> None:
    """A graceful stop answers who is waiting and then frees the port."""
    started, finish = asyncio.Event(), asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        started.set()
        await finish.wait()
        await answer(send, 200, [], b"done")

    server = await serve(app, "127.0.0.1", 0)
    async with httpx.AsyncClient(trust_env=False) as http:
        request = asyncio.create_task(http.get(server.url))
        await started.wait()
        closing = asyncio.create_task(server.close(10))
        await asyncio.sleep(0)
        finish.set()
        assert (await request).content == b"done"
        await closing
    again = await serve(app, "127.0.0.1", server.port)
    await again.close()
