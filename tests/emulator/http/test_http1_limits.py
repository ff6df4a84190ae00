"""What a client of HTTP/1.1 may not do, and what it is told (``emulator.http.bounds.client_limits``)."""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import httpx
import pytest

from emulator.http.asgi import answer, whole_body
from emulator.http.bounds.body_memory import ARRIVING
from emulator.http.bounds.client_limits import BODY_BYTES, USUAL
from emulator.http.server import Server

HEAD = b"GET / HTTP/1.1\r\nhost: x\r\n"
POST = b"POST / HTTP/1.1\r\nhost: x\r\n"
CHUNKED = POST + b"transfer-encoding: chunked\r\n\r\n"
QUICK = USUAL._replace(head_seconds=0.2, body_seconds=0.2, idle_seconds=0.2, unread_seconds=0.2)


async def echo(scope: Any, receive: Any, send: Any) -> None:
    await answer(send, 200, [], await whole_body(receive))


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Iterator[None]:
    """Whatever became of the requests, the room that they took is given back."""
    yield
    assert ARRIVING.left == BODY_BYTES


def said(server: Server, *sent: bytes) -> bytes:
    """What comes back for raw bytes until the server closes; what it does not take is not sent."""
    with socket.create_connection((server.host, server.port), timeout=20) as connection:
        try:
            for piece in sent:
                connection.sendall(piece)
        except OSError:
            pass
        received = b""
        while piece := connection.recv(65_536):
            received += piece
    return received


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        pytest.param(HEAD + b"a:b\r\n" * 600 + b"\r\n", 431, id="header fields"),
        pytest.param(HEAD + b"a:b\r\n" * 200_000, 431, id="header fields without end"),
        pytest.param(HEAD + b"a: " + b"b" * 70_000 + b"\r\n\r\n", 431, id="a long header"),
        pytest.param(HEAD + (b"a: " + b"b" * 8000 + b"\r\n") * 9 + b"\r\n", 431, id="long headers"),
        pytest.param(HEAD + b"a: " + b"b" * 3_000_000, 431, id="a header without end"),
        pytest.param(b"GET /" + b"a" * 17_000 + b" HTTP/1.1\r\nhost: x\r\n\r\n", 414, id="a long target"),
        pytest.param(b"GET /" + b"a" * 3_000_000, 414, id="a target without end"),
        pytest.param(b"\r\n" * 200_000, 431, id="empty lines without end"),
        pytest.param(CHUNKED + b"1;" + b"x" * 3_000_000, 431, id="a chunk extension without end"),
        pytest.param(CHUNKED + b"0\r\n" + b"a:b\r\n" * 200_000, 431, id="trailers without end"),
        pytest.param(CHUNKED + b"0\r\na: " + b"b" * 3_000_000, 431, id="a trailer without end"),
    ],
)
def test_what_is_too_long_is_refused_with_the_reason(
    served: Callable[..., Server], request_: bytes, status: int
) -> None:
    """The client reads the answer though it is still sending, and the port lives on, for long heads too."""
    server = served(echo)
    for _ in range(5):
        answered = said(server, request_)
        assert answered.startswith(b"HTTP/1.1 %d " % status)
        assert re.search(rb"\d+ (bytes|headers) at most\n$", answered)
    assert httpx.get(f"{server.url}/{'a' * 10_000}", trust_env=False).status_code == 200


@pytest.mark.parametrize(
    "request_",
    [
        pytest.param(HEAD + b"a:b\r\n" * 490 + b"connection: close\r\n\r\n", id="header fields"),
        pytest.param(HEAD + b"a: " + b"b" * 60_000 + b"\r\nconnection: close\r\n\r\n", id="a long header"),
        pytest.param(
            b"GET /?" + b"a" * 16_000 + b" HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n", id="target"
        ),
        pytest.param(
            POST
            + b"connection: close\r\ntransfer-encoding: chunked\r\n\r\n"
            + b"1;x=y\r\na\r\n" * 30_000
            + b"0\r\nt: u\r\n\r\n",
            id="chunks",
        ),
    ],
)
def test_what_is_just_short_enough_is_answered(served: Callable[..., Server], request_: bytes) -> None:
    """A session token of AWS, a presigned URL, a body in chunks of a byte: however it is cut on its way."""
    server = served(echo)
    assert said(server, request_).startswith(b"HTTP/1.1 200 ")
    pieces = [request_[at : at + 997] for at in range(0, len(request_), 997)]
    assert said(server, *pieces).startswith(b"HTTP/1.1 200 ")


def test_what_is_refused_is_answered_after_what_came_before(served: Callable[..., Server]) -> None:
    """A pipelined request that is none does not take the answer of the one before it."""
    server = served(echo)
    answered = said(server, POST + b"content-length: 3\r\n\r\nabc" + HEAD + b"a:b\r\n" * 600 + b"\r\n")
    first, _, second = answered.partition(b"abc")
    assert first.startswith(b"HTTP/1.1 200 ")
    assert second.startswith(b"HTTP/1.1 431 ")


@pytest.mark.parametrize(
    ("begun", "answered"),
    [
        pytest.param(b"", b"", id="nothing at all"),
        pytest.param(b"\r\n", b"", id="an empty line"),
        pytest.param(HEAD, b"HTTP/1.1 408 ", id="half a head"),
        pytest.param(POST + b"content-length: 9\r\n\r\nabc", b"HTTP/1.1 408 ", id="half a body"),
        pytest.param(POST + b"content-length: 999999\r\n\r\nabc", b"HTTP/1.1 408 ", id="a long body"),
        pytest.param(CHUNKED + b"3\r\nabc\r\n", b"HTTP/1.1 408 ", id="half a chunked body"),
        pytest.param(HEAD + b"\r\n", b"HTTP/1.1 200 ", id="no second request"),
    ],
)
def test_who_says_no_more_is_not_waited_for(
    served: Callable[..., Server], begun: bytes, answered: bytes
) -> None:
    """A head, a body and an idle connection have their times; a head and a body are told so."""
    received = said(served(echo, limits=QUICK), begun)
    assert received.startswith(answered)
    assert bool(received) == bool(answered)


def test_an_early_answer_stands_alone(served: Callable[..., Server]) -> None:
    """A request that is answered before its body has come gets no second answer if the rest never comes."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await answer(send, 403, [], b"")

    answered = said(served(app, limits=QUICK), POST + b"content-length: 9\r\n\r\nabc")
    assert answered.count(b"HTTP/1.1") == 1


def test_who_reads_no_answer_is_not_waited_for(served: Callable[..., Server]) -> None:
    """An answer that nobody takes is given up, with what it holds."""
    ended = asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["path"] == "/ended":
            await ended.wait()
            await answer(send, 200, [], b"yes")
            return
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for _ in range(100):
            await send({"type": "http.response.body", "body": bytes(1 << 20), "more_body": True})
        ended.set()

    server = served(app, limits=QUICK)
    with socket.create_connection((server.host, server.port), timeout=20) as connection:
        connection.sendall(HEAD + b"\r\n")
        assert httpx.get(f"{server.url}/ended", timeout=20, trust_env=False).text == "yes"


def test_an_answer_that_takes_its_time_is_waited_for(served: Callable[..., Server]) -> None:
    """Only clients are short of time: what an application does lasts as long as it lasts."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.sleep(1)
        await answer(send, 200, [], b"late")

    assert httpx.get(served(app, limits=QUICK).url, trust_env=False).text == "late"


def test_a_port_takes_so_many_connections_and_says_so_to_the_next(served: Callable[..., Server]) -> None:
    """503 with the reason; when one of them ends there is room again."""
    server = served(echo, limits=USUAL._replace(connections=5, crowded_seconds=20))
    with ExitStack() as stack:
        for _ in range(5):
            connection = stack.enter_context(socket.create_connection((server.host, server.port), timeout=10))
            connection.sendall(HEAD + b"\r\n")
            assert connection.recv(1000).startswith(b"HTTP/1.1 200 ")
        refused = said(server, HEAD + b"\r\n")
        assert refused.startswith(b"HTTP/1.1 503 ")
        assert b"5 connections are open" in refused
    for _ in range(100):
        if said(server, HEAD + b"connection: close\r\n\r\n").startswith(b"HTTP/1.1 200 "):
            return
    raise AssertionError("there is no room again")


def test_a_crowded_port_is_less_patient(served: Callable[..., Server]) -> None:
    """Where half of the connections are taken, those that say nothing make room soon."""
    server = served(echo, limits=USUAL._replace(connections=4, head_seconds=1.0, crowded_seconds=0.1))
    with ExitStack() as stack:
        silent = [
            stack.enter_context(socket.create_connection((server.host, server.port), timeout=10))
            for _ in range(4)
        ]
        assert [connection.recv(1) for connection in silent] == [b""] * 4


def test_a_promise_of_a_body_takes_no_room_until_it_comes(served: Callable[..., Server]) -> None:
    """Content-Length alone is no reason to set memory aside: what is counted follows what came."""
    server = served(echo)
    with socket.create_connection((server.host, server.port), timeout=10) as connection:
        connection.sendall(POST + b"content-length: 16777216\r\n\r\n")
        connection.sendall(bytes(1000))
        assert httpx.get(server.url, trust_env=False).status_code == 200
        assert BODY_BYTES - ARRIVING.left <= 32 * 1024
        connection.sendall(bytes(16_777_216 - 1000))
        received = 0
        while received < 16_777_216:
            received += len(connection.recv(1 << 20))


def test_bodies_that_there_is_no_room_for_are_refused(
    served: Callable[..., Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    """503 with the reason, whether a body says how long it is or not; and then there is room again."""
    server = served(echo)
    monkeypatch.setattr(ARRIVING, "left", 200_000)
    for sent in (
        POST + b"content-length: 900000\r\n\r\n" + bytes(900_000),
        CHUNKED + b"f4240\r\n" + bytes(1_000_000),
    ):
        refused = said(server, sent)
        assert refused.startswith(b"HTTP/1.1 503 ")
        assert b"try again later" in refused
        assert ARRIVING.left == 200_000
    with httpx.Client(base_url=server.url, trust_env=False) as http:
        assert http.post("/", content=bytes(90_000)).status_code == 200
    monkeypatch.undo()


def test_pipelined_requests_are_not_run_ahead_of_a_slow_reader(served: Callable[..., Server]) -> None:
    """While the client reads no answers, the requests behind them are not begun."""
    begun = 0

    async def app(scope: Any, receive: Any, send: Any) -> None:
        nonlocal begun
        if scope["path"] == "/begun":
            await answer(send, 200, [], b"%d" % begun)
            return
        begun += 1
        await answer(send, 200, [], bytes(4 << 20))

    server = served(app)
    with socket.create_connection((server.host, server.port), timeout=10) as connection:
        connection.sendall((HEAD + b"\r\n") * 50)
        counts = [httpx.get(f"{server.url}/begun", trust_env=False).text for _ in range(20)]
        assert int(counts[-1]) < 10
        received = 0
        while received < 50 * (4 << 20):
            received += len(connection.recv(1 << 20))


def test_a_body_in_chunks_of_a_byte_comes_whole(served: Callable[..., Server]) -> None:
    """200,000 chunks: in order, and others are answered in between."""
    server = served(echo)
    body = bytes(i % 251 for i in range(200_000))
    with ExitStack() as stack:
        connection = stack.enter_context(socket.create_connection((server.host, server.port), timeout=20))
        connection.sendall(CHUNKED + b"".join(b"1\r\n%c\r\n" % byte for byte in body[:100_000]))
        assert httpx.get(server.url, trust_env=False).status_code == 200
        connection.sendall(b"".join(b"1\r\n%c\r\n" % byte for byte in body[100_000:]) + b"0\r\n\r\n")
        received = b""
        while not received.endswith(body):
            received += connection.recv(65_536)
