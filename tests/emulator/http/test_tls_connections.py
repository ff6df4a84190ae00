"""Connections of a port that speaks TLS: how they begin and how they end."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from emulator.clock import Clock
from emulator.http.asgi import answer, whole_body
from emulator.http.server import Server, serve
from emulator.machine.certificate_authority import new_authority
from emulator.machine.port_tls import load_tls


async def echo(scope: Any, receive: Any, send: Any) -> None:
    body = await whole_body(receive)
    await answer(send, 200, [(b"x-scheme", scope["scheme"].encode())], body)


@dataclass(frozen=True)
class Secured:
    """A port, what its clients trust, and what its event loop was told of failures."""

    server: Server
    context: ssl.SSLContext
    failures: list[dict[str, Any]]

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self.server.port, ssl=self.context)


@pytest.fixture
async def secured(tmp_path: Path) -> AsyncIterator[Secured]:
    authority, host = new_authority(Clock()), tmp_path / "host.pem"
    host.write_bytes(authority.issue(["127.0.0.1"], Clock()))
    trust = authority.write_certificate(tmp_path / "authority.pem")
    failures: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, failure: failures.append(failure))
    server = await serve(echo, "127.0.0.1", 0, tls=load_tls(host, host, ["127.0.0.1"], Clock()))
    yield Secured(server, ssl.create_default_context(cafile=trust), failures)
    await server.close(0.2)


async def test_a_refusal_reaches_a_client_that_is_still_sending(secured: Secured) -> None:
    """It reads the reason, and then the end."""
    reader, writer = await secured.connect()
    writer.write(b"POST /")
    for _ in range(32):
        writer.write(b"x" * 65_536)
        await writer.drain()

    said = await asyncio.wait_for(reader.read(), 20)

    assert said.startswith(b"HTTP/1.1 414 ")
    assert said.endswith(b"a target has 16384 bytes at most\n")
    assert secured.failures == []
    writer.close()


async def test_who_does_not_speak_tls_is_left_and_the_next_is_answered(secured: Secured) -> None:
    """A plain request, nonsense, and one that leaves in the middle of the handshake."""
    for said in (b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n", bytes(100), b"\x16\x03\x01"):
        reader, writer = await asyncio.open_connection("127.0.0.1", secured.server.port)
        writer.write(said)
        writer.write_eof()
        assert not (await asyncio.wait_for(reader.read(), 20)).startswith(b"HTTP")
        writer.close()

    reader, writer = await secured.connect()
    writer.write(b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 200000\r\n\r\n" + bytes(200_000))
    head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 20)
    assert b"x-scheme: https\r\n" in head
    assert await asyncio.wait_for(reader.readexactly(200_000), 20) == bytes(200_000)
    assert secured.failures == []
    writer.close()
