"""Attacks over WebSocket, with frames made by hand."""

from __future__ import annotations

from contextlib import suppress

from emulator.clock import stopwatch
from tests.attack.http_attacks import opened

PATHS = {"topics": "/topics/ws", "queues": "/"}
_MASK = b"\0\0\0\0"
FLOODS = {
    "fragments of a byte": (b"\x01\x81" + _MASK + b"a", b"\x00\x81" + _MASK + b"a"),
    "empty fragments": (b"\x01\x80" + _MASK, b"\x00\x80" + _MASK),
    "pings": (b"", b"\x89\x80" + _MASK),
    "long pings": (b"", b"\x89\xfd" + _MASK + bytes(125)),
    "pongs": (b"", b"\x8a\x80" + _MASK),
    "empty messages": (b"", b"\x81\x80" + _MASK),
    "messages of a byte": (b"", b"\x81\x81" + _MASK + b"{"),
}


def named_flood(port: int, path: str, name: str, seconds: float, most_bytes: int) -> None:
    """One of ``FLOODS``, on one connection after the other."""
    first, again = FLOODS[name]
    until, sent, burst = stopwatch() + seconds, 0, again * (60_000 // len(again))
    handshake = (
        f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nconnection: upgrade\r\nupgrade: websocket\r\n"
        "sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
    while stopwatch() < until and sent < most_bytes:
        with suppress(OSError), opened(port) as connection:
            connection.settimeout(1)
            connection.sendall(handshake.encode())
            connection.recv(4096)
            connection.sendall(first)
            while stopwatch() < until and sent < most_bytes:
                connection.sendall(burst)
                sent += len(burst)
