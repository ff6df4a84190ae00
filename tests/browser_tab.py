"""Chromium without a window, and a tab of it that a test tells what to do over its DevTools protocol."""

from __future__ import annotations

import asyncio
import base64
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import aiohttp

from emulator.clock import Clock
from tests.programs import browser_program

_OPTIONS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage",
    "--remote-debugging-port=0",
)  # fmt: skip
_PATIENCE = 60.0


class Tab:
    """A tab. ``said`` has what the page wrote to its console, and its uncaught errors."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._last = 0
        self.said: list[str] = []

    async def ask(self, method: str, **parameters: object) -> dict[str, Any]:
        """Send a command of the protocol, and return its result."""
        self._last += 1
        await self._socket.send_json({"id": self._last, "method": method, "params": parameters})
        while True:
            answer: dict[str, Any] = await self._socket.receive_json()
            if answer.get("method") in {
                "Runtime.exceptionThrown",
                "Runtime.consoleAPICalled",
                "Log.entryAdded",
            }:
                self.said.append(str(answer["params"]))
            if answer.get("id") == self._last:
                assert "error" not in answer, answer
                result: dict[str, Any] = answer["result"]
                return result

    async def evaluate(self, expression: str) -> Any:
        """The value of an expression in the page."""
        asked = {"expression": expression, "awaitPromise": True, "returnByValue": True}
        found = await self.ask("Runtime.evaluate", **asked)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    async def wait_for(self, expression: str) -> Any:
        """The value of an expression, as soon as it is true."""
        clock, found = Clock(), None
        while clock.elapsed() < _PATIENCE:
            if found := await self.evaluate(expression):
                return found
            await asyncio.sleep(0.05)
        raise AssertionError(f"never true: {expression}\n{await self.evaluate('document.body.innerText')}")

    async def press(self, key: str) -> None:
        """Press a key that writes one character."""
        for kind in ("keyDown", "keyUp"):
            text = {"text": key} if kind == "keyDown" else {}
            await self.ask("Input.dispatchKeyEvent", type=kind, key=key, **text)

    async def go_to(self, address: str) -> None:
        await self.ask("Page.navigate", url=address)
        await self.wait_for("document.readyState === 'complete' && location.href !== 'about:blank'")

    async def picture(self) -> bytes:
        """A screenshot, as PNG."""
        return base64.b64decode((await self.ask("Page.captureScreenshot", format="png"))["data"])


@contextmanager
def running_browser(profile: Path, *options: str, size: str = "1920,1080") -> Iterator[str]:
    """Chromium for the time of the context; yield the address at which it is told what to do."""
    command = [browser_program(), *_OPTIONS, f"--window-size={size}", f"--user-data-dir={profile}", *options]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        clock, told = Clock(), profile / "DevToolsActivePort"
        while not (told.exists() and told.read_text()) and clock.elapsed() < _PATIENCE:
            clock.wait(0.05)
        yield f"http://127.0.0.1:{told.read_text().split()[0]}"
        process.terminate()


@asynccontextmanager
async def open_tab(browser: str) -> AsyncIterator[Tab]:
    """An empty tab for the time of the context."""
    async with aiohttp.ClientSession() as session:
        async with session.put(f"{browser}/json/new?about:blank") as opened:
            target = await opened.json(content_type=None)
        async with session.ws_connect(target["webSocketDebuggerUrl"], max_msg_size=0) as socket:
            tab = Tab(socket)
            for domain in ("Runtime", "Log", "Page"):
                await tab.ask(f"{domain}.enable")
            yield tab
