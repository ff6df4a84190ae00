"""Attacks on the AMQP port: a connection as any other, and then frames made by hand."""

from __future__ import annotations

import socket
import struct
from contextlib import suppress
from urllib.parse import urlsplit

from pamqp import commands
from pamqp.base import Frame
from pamqp.frame import marshal
from pamqp.header import ContentHeader

from emulator.clock import stopwatch
from tests.attack.http_attacks import opened

HEARTBEAT = b"\x08\0\0\0\0\0\0\xce"
_PUBLISH = commands.Basic.Publish(exchange="", routing_key="nobody")


def connected(url: str) -> socket.socket:
    """An open connection with channel 1 open."""
    connection = opened(urlsplit(url).port or 0)
    connection.sendall(b"AMQP\0\0\x09\x01")
    connection.recv(65_536)
    for method in (
        commands.Connection.StartOk({}, "PLAIN", "\0guest\0guest"),
        commands.Connection.TuneOk(2047, 131_072, 60),
        commands.Connection.Open("/"),
    ):
        _say(connection, method, 0)
    connection.recv(65_536)
    _say(connection, commands.Channel.Open(), 1)
    connection.recv(65_536)
    return connection


def _say(connection: socket.socket, method: Frame, channel: int) -> None:
    connection.sendall(marshal(method, channel))


def published(size: int) -> bytes:
    """The frames of one message of so many bytes, to nobody."""
    frames = [marshal(_PUBLISH, 1), marshal(ContentHeader(0, size, commands.Basic.Properties()), 1)]
    for at in range(0, size, 131_064):
        length = min(131_064, size - at)
        frames.append(struct.pack(">BHI", 3, 1, length) + bytes(length) + b"\xce")
    return b"".join(frames)


def heartbeats(url: str, seconds: float) -> None:
    """Heartbeats as fast as they are taken."""
    _flood(url, HEARTBEAT * 8000, seconds, 100_000_000)


def publishes(url: str, size: int, seconds: float, most_bytes: int) -> None:
    """Messages of so many bytes as fast as they are taken."""
    _flood(url, published(size) * max(1, 100_000 // max(1, size)), seconds, most_bytes)


def unfinished(url: str, channels: int) -> None:
    """A message of 100 MB begun on each of many channels, and 1 MB of it sent."""
    with suppress(OSError), connected(url) as connection:
        connection.settimeout(1)
        for channel in range(2, channels + 2):
            _say(connection, commands.Channel.Open(), channel)
            _say(connection, _PUBLISH, channel)
            connection.sendall(marshal(ContentHeader(0, 100_000_000, commands.Basic.Properties()), channel))
            for _ in range(8):
                connection.sendall(struct.pack(">BHI", 3, channel, 131_064) + bytes(131_064) + b"\xce")


def long_frame(url: str, size: int) -> None:
    """A frame that says it has 4 GB, and so many of its bytes."""
    with suppress(OSError), connected(url) as connection:
        connection.settimeout(1)
        connection.sendall(struct.pack(">BHI", 3, 1, 0xFFFFFFFF) + bytes(size))


def _flood(url: str, burst: bytes, seconds: float, most_bytes: int) -> None:
    until, sent = stopwatch() + seconds, 0
    while stopwatch() < until and sent < most_bytes:
        with suppress(OSError), connected(url) as connection:
            connection.settimeout(1)
            while stopwatch() < until and sent < most_bytes:
                connection.sendall(burst)
                sent += len(burst)
