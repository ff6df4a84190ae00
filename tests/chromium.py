"""A real, headless Chromium, told what to do over its DevTools protocol: click, press keys, look, measure."""

from __future__ import annotations

import json
import subprocess
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from websockets.sync.client import ClientConnection, connect

from tests.programs import browser_program
from tests.waiting import wait_until

_OPTIONS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage",
    "--hide-scrollbars", "--remote-debugging-port=0",
)  # fmt: skip
_PATIENCE_SECONDS = 60.0
_KEYS = {" ": "Space", "Enter": "Enter", "Escape": "Escape", "Tab": "Tab"}
_CODES = {
    " ": 32,
    "Enter": 13,
    "Tab": 9,
    "End": 35,
    "Home": 36,
    "ArrowLeft": 37,
    "ArrowRight": 39,
    "Escape": 27,
}


class Tab:
    """One tab. What a page logs as an error, throws or asks the network for is kept in ``problems``."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self._last = 0
        self.problems: list[str] = []
        self.asked: list[str] = []
        for domain in ("Page", "Runtime", "Network", "Log", "Performance"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Call a method of the protocol and return its result."""
        self._last += 1
        self._connection.send(json.dumps({"id": self._last, "method": method, "params": params}))
        while True:
            message = json.loads(self._connection.recv(timeout=_PATIENCE_SECONDS))
            if message.get("id") == self._last:
                assert "error" not in message, message
                return message["result"]
            self._note(message.get("method"), message.get("params", {}))

    def _note(self, method: str | None, params: dict[str, Any]) -> None:
        if method == "Runtime.exceptionThrown":
            self.problems.append(json.dumps(params["exceptionDetails"])[:800])
        elif method == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.problems.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.asked.append(params["request"]["url"])

    def open(self, page: str, *, lands_at: str | None = None) -> None:
        """Open a page and wait until it has been painted; ``lands_at`` is where it leads, if elsewhere."""
        self.call("Page.navigate", url=page)
        self.wait(f"location.href === {json.dumps(lands_at or page)} && document.readyState === 'complete'")
        self.eval("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def eval(self, expression: str) -> Any:
        """The value of a JavaScript expression; a promise is awaited."""
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def wait(self, expression: str) -> None:
        """Wait until a JavaScript expression is true."""
        wait_until(lambda: self.eval(expression), seconds=_PATIENCE_SECONDS, shown=lambda: expression)

    def processor_seconds(self) -> float:
        """The processor time that the page's process has had so far, all of its threads together."""
        metrics = {each["name"]: each["value"] for each in self.call("Performance.getMetrics")["metrics"]}
        return float(metrics["ProcessTime"])

    def size(self, width: int, height: int, *, touch: bool = False) -> None:
        """Give the page a window of this size; with ``touch``, that of a phone."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=touch,
        )
        self.call("Emulation.setTouchEmulationEnabled", enabled=touch)

    def prefer(self, **features: str) -> None:
        """Set what people prefer: ``prefers_reduced_motion="reduce"``."""
        listed = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
        self.call("Emulation.setEmulatedMedia", features=listed)

    def key(self, key: str) -> None:
        """Press and release a key: one with a name, or one that writes a character."""
        named: dict[str, Any] = {"key": key}
        if key in _CODES:
            named |= {"code": _KEYS.get(key, key), "windowsVirtualKeyCode": _CODES[key]}
        text = key if len(key) == 1 else {"Enter": "\r"}.get(key)
        self.call("Input.dispatchKeyEvent", type="keyDown", **named, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **named)

    def press(self, x: float, y: float) -> None:
        """Press the mouse's button."""
        self._mouse("mousePressed", x, y)

    def move(self, x: float, y: float) -> None:
        """Move the mouse with its button pressed."""
        self._mouse("mouseMoved", x, y)

    def release(self, x: float, y: float) -> None:
        self._mouse("mouseReleased", x, y)

    def click(self, x: float, y: float) -> None:
        self.press(x, y)
        self.release(x, y)

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        self.press(*start)
        self.move(*end)
        self.release(*end)

    def _mouse(self, kind: str, x: float, y: float) -> None:
        moved = {"buttons": 1} if kind == "mouseMoved" else {"clickCount": 1}
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", **moved)

    def middle(self, selector: str) -> tuple[float, float]:
        """The middle of an element in the window, after scrolling to it."""
        x, y = self.eval(f"""(() => {{
            const element = document.querySelector({json.dumps(selector)});
            element.scrollIntoView({{block: "center"}});
            const box = element.getBoundingClientRect();
            return [box.left + box.width / 2, box.top + box.height / 2];
        }})()""")
        return x, y

    def click_on(self, selector: str) -> None:
        self.click(*self.middle(selector))

    def picture(self, **clip: float) -> bytes:
        """What the window shows, or the part of it at ``x``, ``y``, ``width`` and ``height``, as PNG."""
        part = {"clip": {**clip, "scale": 1}} if clip else {}
        return b64decode(self.call("Page.captureScreenshot", **part)["data"])


@contextmanager
def running_chromium(profile: Path, *options: str) -> Iterator[str]:
    """Run Chromium for the time of the context; yield the address at which it is told what to do."""
    command = [browser_program(), f"--user-data-dir={profile}", *_OPTIONS, *options, "about:blank"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            told = profile / "DevToolsActivePort"
            port, *_ = wait_until(
                lambda: told.exists() and told.read_text().split(), seconds=_PATIENCE_SECONDS
            )
            yield f"http://127.0.0.1:{port}"
        finally:
            process.kill()


@contextmanager
def open_tab(browser: str) -> Iterator[Tab]:
    """An empty tab of a running Chromium, for the time of the context."""
    address = f"{browser}/json/new?about:blank"
    target = httpx.put(address, trust_env=False, timeout=_PATIENCE_SECONDS).json()
    url = target["webSocketDebuggerUrl"]
    with connect(
        url, max_size=None, proxy=None, open_timeout=_PATIENCE_SECONDS, ping_interval=None
    ) as connection:
        yield Tab(connection)


@contextmanager
def chromium(profile: Path) -> Iterator[Tab]:
    """A Chromium with one tab, for the time of the context."""
    with running_chromium(profile) as browser, open_tab(browser) as tab:
        yield tab
