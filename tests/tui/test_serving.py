"""The screens in a browser."""

from __future__ import annotations

import asyncio
import re
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import pytest

from emulator.assembly.embedded import embedded
from emulator.settings.settings import Settings
from tests.chromium import Tab, chromium
from tests.waiting import wait_until
from tui.browser.serving import ServingUnavailableError, serve

aiohttp = pytest.importorskip("aiohttp", reason="comes with textual-serve, the serve extra")
pytest.importorskip("textual_serve", reason="the serve extra is not installed")


_PATIENCE_SECONDS = 60.0
_BLANK_BYTES = 40_000
"""A picture of the screens has more bytes than one of an empty page."""
NAMES = {"x": 0, "y": 0, "width": 700, "height": 18}
"""Where the screens' names stand, the one that is shown marked."""


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


@pytest.fixture
def page() -> Iterator[str]:
    """A page served for a sandbox of its own."""
    port = free_port()
    with embedded(Settings(aws_port=0, control_port=0, amqp="none", data_dir=None)) as emulator:
        code = f"from tui.browser.serving import serve; serve({emulator.control!r}, {port})"
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.DEVNULL) as server:
            yield f"http://127.0.0.1:{port}"
            server.terminate()


@pytest.mark.browser
async def test_a_real_browser_shows_the_screens_and_takes_keys(page: str, tmp_path: Path) -> None:
    """What Chromium draws is no blank page, and another after a key: the screens are there, and work."""
    async with asyncio.timeout(60), aiohttp.ClientSession() as session:
        await answered(session, page)
    with chromium(tmp_path / "profile") as tab:
        tab.size(1400, 900)
        tab.open(page, lands_at=f"{page}/")
        picture_when(tab, lambda image: len(image) > _BLANK_BYTES)
        streams = picture_when(tab, steady(), **NAMES)
        tab.click(300, 300)
        tab.key("5")
        picture_when(tab, lambda image: image != streams, **NAMES)


def picture_when(tab: Tab, fit: Callable[[bytes], object], **clip: float) -> bytes:
    """A screenshot of the page, or of a part of it, once it is ``fit``."""

    def look() -> bytes | None:
        image = tab.picture(**clip)
        return image if fit(image) else None

    return wait_until(look, seconds=_PATIENCE_SECONDS)


def steady() -> Callable[[bytes], bool]:
    """Whether a picture is as the one before."""
    before: list[bytes] = [b""]

    def same(image: bytes) -> bool:
        last, before[0] = before[0], image
        return bool(image) and image == last

    return same


async def answered(session: Any, page: str) -> str:
    """The page, as soon as it is served."""
    while True:
        try:
            async with session.get(page) as answer:
                text: str = await answer.text()
                return text
        except aiohttp.ClientConnectionError:
            await asyncio.sleep(0.1)


async def test_a_browser_gets_the_screens(page: str) -> None:
    """The page opens, and over its web socket come the screens of the sandbox."""
    async with asyncio.timeout(60), aiohttp.ClientSession() as session:
        assert "RDSS sandbox" in await answered(session, page)
        seen = b""
        async with session.ws_connect(f"{page}/ws?width=160&height=48") as socket_:
            while not (b"Streams" in seen and b"input" in seen):
                seen += (await socket_.receive()).data or b""


async def test_the_page_asks_no_foreign_host_for_anything(page: str) -> None:
    """Every address in the page and its style sheets is of the host that served it, by whatever name."""
    async with asyncio.timeout(60), aiohttp.ClientSession() as session:
        await answered(session, page)
        name = page.replace("127.0.0.1", "localhost")
        async with session.get(name) as answer:
            text = await answer.text()
        wanted = re.findall(r"""(?:\b(?:href|src)=|url\()["']([^"']+)["']""", text)
        kinds = set()
        for address in [urljoin(f"{name}/", each) for each in wanted]:
            assert address.startswith(f"{name}/"), address
            async with session.get(address) as answer:
                assert answer.status == 200, address
                kinds.add(address.rpartition(".")[2])
                if address.endswith(".css"):
                    assert not re.search(r"""url\(\s*["']?(?:https?:)?//|@import""", await answer.text())
        assert {"css", "js", "ttf"} <= kinds
        assert f'data-session-websocket-url="{name.replace("http", "ws")}/ws"' in text
        elsewhere = re.findall(r"""["'(](?:https?:)?//(?!localhost)[^"')]*""", text)
        assert elsewhere in ([], ['"http://www.w3.org/2000/svg'])  # the name of a language, no address


def test_nothing_is_announced_that_is_not_there() -> None:
    """A port that is taken is said before any address is."""
    announced: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ServingUnavailableError, match=rf"port {port} on 127\.0\.0\.1 cannot be had"):
            serve("http://127.0.0.1:1", port, ready=announced.append)

    assert announced == []
