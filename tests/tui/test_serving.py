"""The screens in a browser."""

from __future__ import annotations

import asyncio
import base64
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from emulator.clock import Clock
from emulator.embedded import embedded
from emulator.settings import Settings

aiohttp = pytest.importorskip("aiohttp", reason="comes with textual-serve, the serve extra")
pytest.importorskip("textual_serve", reason="the serve extra is not installed")


_BLANK_BYTES = 40_000
"""A picture of the screens has more bytes than one of an empty page."""
NAMES = {"clip": {"x": 0, "y": 0, "width": 700, "height": 18, "scale": 1}}
"""Where the screens' names stand, the one that is shown marked."""


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


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[str]:
    """Chromium without a window; the address at which it is told what to do."""
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None:
        pytest.skip("there is no Chromium here")
    profile = tmp_path / "profile"
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0"]
    options += [f"--user-data-dir={profile}", "--window-size=1400,900", "about:blank"]
    with subprocess.Popen([found, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        clock, told = Clock(), profile / "DevToolsActivePort"
        deadline = clock.elapsed() + 60
        while not told.exists() and clock.elapsed() < deadline:
            clock.wait(0.1)
        yield f"http://127.0.0.1:{told.read_text().split()[0]}"
        process.terminate()


async def test_a_real_browser_shows_the_screens_and_takes_keys(
    page: str, browser: str, tmp_path: Path
) -> None:
    """What Chromium draws is no blank page, and another after a key: the screens are there, and work."""
    async with asyncio.timeout(120), aiohttp.ClientSession() as session:
        await answered(session, page)
        async with session.put(f"{browser}/json/new?{page}") as opened:
            target = await opened.json(content_type=None)
        async with session.ws_connect(target["webSocketDebuggerUrl"], max_msg_size=0) as devtools:
            whole = await pictured(devtools, lambda image: len(image) > _BLANK_BYTES)
            (tmp_path / "streams.png").write_bytes(whole)
            streams = await pictured(devtools, steady(), **NAMES)
            for kind in ("mousePressed", "mouseReleased"):
                place = {"x": 300, "y": 300, "button": "left", "clickCount": 1}
                await asked(devtools, "Input.dispatchMouseEvent", type=kind, **place)
            for kind in ("keyDown", "keyUp"):
                text = {"text": "5"} if kind == "keyDown" else {}
                await asked(devtools, "Input.dispatchKeyEvent", type=kind, key="5", code="Digit5", **text)
            await pictured(devtools, lambda image: image != streams, **NAMES)
            (tmp_path / "faults.png").write_bytes(await pictured(devtools, bool))


async def asked(devtools: Any, method: str, **parameters: object) -> dict[str, Any]:
    """What the browser answers to a command; nothing while the page is on its way."""
    await devtools.send_json({"id": 1, "method": method, "params": parameters})
    while True:
        answer: dict[str, Any] = await devtools.receive_json()
        if answer.get("id") == 1:
            result: dict[str, Any] = answer.get("result", {})
            return result


async def pictured(devtools: Any, fit: Callable[[bytes], object], **part: object) -> bytes:
    """A screenshot of the page, or of a part of it, once it is ``fit``."""
    while True:
        answer = await asked(devtools, "Page.captureScreenshot", format="png", **part)
        if fit(image := base64.b64decode(answer.get("data", ""))):
            return image
        await asyncio.sleep(0.2)


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
