"""Bytes on an HTTP port: HTTP/1.1, HTTP/2 and WebSocket, up to an application that reads and answers."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from functools import partial
from typing import Final

import hpack

from emulator.clock import Clock
from emulator.http.asgi import HttpScope, Receive, Send, answer, whole_body
from emulator.http.bounds.port_connections import Connections
from emulator.http.http2.http2_protocol import PREFACE
from emulator.http.server import _Sniffer
from tests.fuzz.fuzzed_parser import FuzzedParser, Parse
from tests.fuzz.memory_transport import ByteLoop

_UPGRADE: Final = (
    b"GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)


async def _application(scope: HttpScope, receive: Receive, send: Send) -> None:
    """Answer with the body that came; to a WebSocket, with each message that comes."""
    if scope["type"] == "http":
        body = await whole_body(receive)
        await answer(send, 200, [(b"x-path", scope["path"].encode("utf-8", "replace").hex().encode())], body)
        return
    await receive()
    await send({"type": "websocket.accept"})
    while (message := await receive())["type"] == "websocket.receive":
        await send({"type": "websocket.send", "text": message.get("text"), "bytes": message.get("bytes")})


def _open(first: bytes) -> Parse:
    """What a connection does with ``first`` and then the input, in pieces that the input's own bytes cut."""
    loop = ByteLoop()
    connections = Connections(_application, loop.failures.append, clock=Clock(frozen_at=0.0), sockets=True)

    def parse(data: bytes) -> None:
        loop.converse(partial(_Sniffer, connections), first, data)
        connections.last_body = b""

    return parse


def _http1_seeds() -> Iterable[tuple[str, bytes]]:
    yield "get", b"GET /a%20b?c=d HTTP/1.1\r\nHost: localhost\r\n\r\n"
    yield "post", b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhelloGET / HTTP/1.1\r\n\r\n"
    yield (
        "chunked",
        b"PUT /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n3;a=b\r\nabc\r\n0\r\nTrailer: t\r\n\r\n",
    )
    yield "absolute", b"GET http://other:80/p HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
    yield "connect", b"CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n"
    yield "upgrade", _UPGRADE + b"\x81\x85\0\0\0\0hello"
    yield (
        "h2c",
        b"GET / HTTP/1.1\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: \r\n\r\n",
    )
    yield "old", b"HEAD / HTTP/1.0\r\n\r\n"


def _frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def _http2_seeds() -> Iterable[tuple[str, bytes]]:
    encoder = hpack.Encoder()
    asked = [(":method", "POST"), (":path", "/a?b"), (":scheme", "http"), (":authority", "a"), ("x-a", "b")]
    head = encoder.encode(asked)
    settings = _frame(4, 0, 0, struct.pack(">HIHI", 3, 100, 4, 65535)) + _frame(4, 1, 0)
    yield "request", settings + _frame(1, 4, 1, head) + _frame(0, 1, 1, b"body")
    yield "continued", settings + _frame(1, 1, 1, head[:5]) + _frame(9, 4, 1, head[5:])
    yield "reset", settings + _frame(1, 4, 1, encoder.encode(asked)) + _frame(3, 0, 1, struct.pack(">I", 8))
    yield (
        "goaway",
        settings + _frame(7, 0, 0, struct.pack(">II", 0, 0) + b"bye") + _frame(6, 0, 0, b"12345678"),
    )
    yield "windows", settings + _frame(8, 0, 0, struct.pack(">I", 1000)) + _frame(2, 0, 3, b"\0\0\0\0\x10")
    yield "padded", settings + _frame(1, 0x2C, 1, b"\x02\0\0\0\0\x10" + encoder.encode(asked) + b"\0\0")
    yield "unknown", _frame(0xEE, 0xFF, 7, b"whatever") + _frame(5, 0, 1, b"\0\0\0\2")


def _websocket_frame(opcode: int, payload: bytes, *, final: bool = True) -> bytes:
    size = bytes((0x80 | len(payload),)) if len(payload) < 126 else b"\xfe" + struct.pack(">H", len(payload))
    return bytes((opcode | 0x80 * final,)) + size + b"\0\0\0\0" + payload


def _websocket_seeds() -> Iterable[tuple[str, bytes]]:
    yield "text", _websocket_frame(1, "héllo".encode()) + _websocket_frame(2, bytes(200))
    yield (
        "pieces",
        _websocket_frame(1, b"a", final=False) + _websocket_frame(9, b"p") + _websocket_frame(0, b"b"),
    )
    yield "close", _websocket_frame(8, struct.pack(">H", 1000) + b"bye")
    yield "pong", _websocket_frame(10, b"") + _websocket_frame(8, b"")


HTTP1 = FuzzedParser("HTTP/1.1 on every port", partial(_open, b""), _http1_seeds)
HTTP2 = FuzzedParser("HTTP/2 on every port", partial(_open, PREFACE), _http2_seeds)
WEBSOCKET = FuzzedParser("WebSocket after its handshake", partial(_open, _UPGRADE), _websocket_seeds)
