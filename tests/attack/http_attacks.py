"""Attacks over HTTP/1.1."""

from __future__ import annotations

import socket
from contextlib import ExitStack, suppress

from emulator.clock import stopwatch

GET = b"GET /health HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n"


def opened(port: int, *, small_window: bool = False) -> socket.socket:
    """A connection to a port of this machine."""
    connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    connection.settimeout(10)
    if small_window:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.connect(("127.0.0.1", port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def flood(port: int, opening: bytes, repeated: bytes, seconds: float, most_bytes: int) -> None:
    """Send ``opening``, then ``repeated``, until time or bytes run out; anew after each end."""
    until, sent = stopwatch() + seconds, 0
    while stopwatch() < until and sent < most_bytes:
        with suppress(OSError), opened(port) as connection:
            connection.settimeout(1)
            connection.sendall(opening)
            while stopwatch() < until and sent < most_bytes:
                connection.sendall(repeated)
                sent += len(repeated)


def header_lines(port: int, count: int) -> None:
    """One request with so many header lines of five bytes."""
    with suppress(OSError), opened(port) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\n" + b"a:b\r\n" * count + b"\r\n")
        connection.recv(65_536)


def long_header(port: int, size: int) -> None:
    """One request with one header of so many bytes."""
    with suppress(OSError), opened(port) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\na: " + bytes(size) + b"\r\n\r\n")
        connection.recv(65_536)


def long_target(port: int, size: int) -> None:
    """One request for a path of so many bytes."""
    with suppress(OSError), opened(port) as connection:
        connection.sendall(b"GET /" + b"a" * size + b" HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
        connection.recv(65_536)


def promised_bodies(port: int, connections: int, seconds: float) -> None:
    """Connections that each promise a body of 16 MiB and send nothing of it."""
    head = b"POST / HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 16777216\r\n\r\n"
    with ExitStack() as stack:
        open_ones = []
        for _ in range(connections):
            with suppress(OSError):
                connection = stack.enter_context(opened(port))
                connection.sendall(head)
                open_ones.append(connection)
        if open_ones:
            open_ones[0].settimeout(seconds)
            with suppress(OSError):
                open_ones[0].recv(1)


def begun_bodies(port: int, connections: int, length: int) -> None:
    """Connections that each send a body of 16 MiB up to ``length`` bytes, all of them at once."""
    head = b"POST / HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 16777216\r\n\r\n"
    with ExitStack() as stack:
        for _ in range(connections):
            with suppress(OSError):
                connection = stack.enter_context(opened(port))
                connection.settimeout(1)
                connection.sendall(head + bytes(length))


def slow_reader(port: int, request: bytes, count: int, seconds: float) -> None:
    """One connection that asks ``count`` times and reads nothing."""
    with suppress(OSError), opened(port, small_window=True) as connection:
        connection.settimeout(seconds)
        connection.sendall(request * count)
        connection.sendall(request * count)


def idle(port: int, connections: int, seconds: float) -> None:
    """So many connections that say half a word."""
    with ExitStack() as stack:
        last = None
        for _ in range(connections):
            with suppress(OSError):
                last = stack.enter_context(opened(port))
                last.sendall(b"GE")
        if last:
            last.settimeout(seconds)
            with suppress(OSError):
                last.recv(1)


CHUNKED = b"POST / HTTP/1.1\r\nhost: 127.0.0.1\r\ntransfer-encoding: chunked\r\n\r\n"
FLOODS: dict[str, tuple[bytes, bytes]] = {
    "chunks of a byte": (CHUNKED, b"1\r\na\r\n" * 10_000),
    "chunks of two bytes": (CHUNKED, b"2\r\nab\r\n" * 10_000),
    "chunk extensions": (CHUNKED, (b"1;" + b"x" * 4000 + b"\r\na\r\n") * 100),
    "one endless chunk extension": (CHUNKED + b"1;", b"x" * 65_536),
    "trailers": (CHUNKED + b"0\r\n", b"a:b\r\n" * 10_000),
    "one endless trailer": (CHUNKED + b"0\r\na: ", b"x" * 65_536),
    "pipelined requests": (b"", GET * 2000),
    "pipelined offers of h2c": (
        b"",
        b"GET /health HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n" * 500,
    ),
    "empty lines": (b"", b"\r\n" * 30_000),
    "one endless header": (b"GET / HTTP/1.1\r\na: ", b"x" * 65_536),
}


def named_flood(port: int, name: str, seconds: float, most_bytes: int) -> None:
    """One of ``FLOODS``."""
    flood(port, *FLOODS[name], seconds, most_bytes)
