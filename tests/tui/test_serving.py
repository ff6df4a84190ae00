"""The screens in a browser."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from emulator.embedded import embedded
from emulator.settings import Settings

aiohttp = pytest.importorskip("aiohttp", reason="comes with textual-serve, the serve extra")
pytest.importorskip("textual_serve", reason="the serve extra is not installed")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


@pytest.fixture
def page() -> Iterator[str]:
    """A page served for a sandbox of its own."""
    port = free_port()
    with embedded(Settings(aws_port=0, control_port=0, amqp="off", data_dir=None)) as emulator:
        code = f"from tui.serving import serve; serve({emulator.control!r}, {port})"
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.DEVNULL) as server:
            yield f"http://127.0.0.1:{port}"
            server.terminate()


async def test_a_browser_gets_the_screens(page: str) -> None:
    """The page opens, and over its web socket come the screens of the sandbox."""
    async with asyncio.timeout(60), aiohttp.ClientSession() as session:
        while True:
            try:
                async with session.get(page) as answer:
                    assert "RDSS sandbox" in await answer.text()
                    break
            except aiohttp.ClientConnectionError:
                await asyncio.sleep(0.1)
        seen = b""
        async with session.ws_connect(f"{page}/ws?width=160&height=48") as socket_:
            while not (b"Streams" in seen and b"embedded" in seen):
                seen += (await socket_.receive()).data or b""
