"""Attacks on the HTTP ports: HTTP/1.1."""

from __future__ import annotations

import socket
from contextlib import suppress

from emulator.clock import stopwatch


def opened(port: int) -> socket.socket:
    """A connection to a port of this machine."""
    connection = socket.create_connection(("127.0.0.1", port), timeout=10)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def flood(port: int, opening: bytes, repeated: bytes, seconds: float, most_bytes: int) -> None:
    """Send ``opening``, then ``repeated`` until time or bytes run out; anew where the connection is closed."""
    until, sent = stopwatch() + seconds, 0
    while stopwatch() < until and sent < most_bytes:
        with suppress(OSError), opened(port) as connection:
            connection.sendall(opening)
            while stopwatch() < until and sent < most_bytes:
                connection.sendall(repeated)
                sent += len(repeated)


def header_lines(port: int, count: int) -> None:
    """One request with so many header lines of five bytes."""
    with suppress(OSError), opened(port) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\n" + b"a:b\r\n" * count + b"\r\n")
        connection.recv(65_536)
