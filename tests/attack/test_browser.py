"""A page of another site in a real browser, and every port of a sandbox: nothing gets in, nothing is told."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import boto3
import httpx
import msgspec
import pytest

from emulator.assembly.embedded import Embedded, embedded
from emulator.settings.settings import Settings
from tests.chromium import Tab, open_tab, running_chromium
from tests.taken_out import needs
from tests.tui.test_serving import free_port
from tests.waiting import wait_until_served

pytest.importorskip("textual_serve", reason="the serve extra is not installed")
pytestmark = [needs("queues", "topics"), pytest.mark.slow, pytest.mark.browser, pytest.mark.timeout(300)]

EVIL = "evil.example"
_CLIENT = {"client-id": "3381af92-2b9e-11e3-b191-71861300734c", "x-project-id": "p"}
_SOCKETS = {"queues": "/v2", "topics": "/topics/ws", "tui": "/ws", "control": "/", "aws": "/"}
_WRITES = {
    "aws": ("/moto-api/reset", "x"),
    "control": ("/reset", "{}"),
    "queues": ("/v1/queues/mine/messages", '[{"body": 1, "ttl": 300}]'),
    "topics": ("/topics/commands", '{"cmd": "publish", "topic": "objects", "data": {"id": 1}}'),
    "tui": ("/", "x"),
}
_ATTACK = """
async (base, path, body, socket) => {
  const outcome = (promise) => promise.then(
    async (answer) => answer.type === 'opaque' ? 'opaque' : `${answer.status}:${await answer.text()}`,
    () => 'failed');
  const loaded = (tag, source) => new Promise((done) => {
    const element = document.createElement(tag);
    element.onload = () => done('loaded');
    element.onerror = () => done('failed');
    element.src = source;
    document.body.append(element);
  });
  const form = () => new Promise((done) => {
    const frame = document.createElement('iframe');
    frame.name = `f${Math.random()}`;
    document.body.append(frame);
    const element = document.createElement('form');
    Object.assign(element, {method: 'POST', action: base + path, enctype: 'text/plain', target: frame.name});
    const field = document.createElement('input');
    Object.assign(field, {name: body, value: ''});
    element.append(field);
    document.body.append(element);
    frame.onload = () => done('done');
    element.submit();
  });
  const talk = () => new Promise((done) => {
    const connection = new WebSocket(base.replace('http', 'ws') + socket);
    connection.onopen = () => done('open');
    connection.onerror = () => done('failed');
  });
  const post = {method: 'POST', body};
  return {
    simple: await outcome(fetch(base + path, {...post, headers: {'content-type': 'text/plain'}})),
    blind: await outcome(fetch(base + path, {...post, mode: 'no-cors'})),
    asked: await outcome(fetch(base + path, {...post, headers: {'x-amz-target': 'x', authorization: 'x'}})),
    read: await outcome(fetch(base + '/health')),
    image: await loaded('img', base + '/health'),
    script: await loaded('script', base + '/health'),
    form: await form(),
    socket: await talk(),
  };
}
"""


class Web:
    """A site: its page, and what was asked of it. It lets every page read what it answers."""

    def __init__(self, port: int = 0) -> None:
        self.asked: list[str] = []
        self._open: list[socket.socket] = []
        site = self

        class Handler(BaseHTTPRequestHandler):
            def setup(self) -> None:
                site._open.append(self.request)
                super().setup()

            def do_GET(self) -> None:
                self._answer()

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers.get("content-length") or 0))
                self._answer()

            def do_OPTIONS(self) -> None:
                self._answer()

            def _answer(self) -> None:
                site.asked.append(f"{self.command} {self.path}")
                body = b"<!doctype html><body>a page</body>"
                self.send_response(200)
                for name, value in (("origin", "*"), ("headers", "*, authorization"), ("methods", "*")):
                    self.send_header(f"access-control-allow-{name}", value)
                self.send_header("content-type", "text/html")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        # Browsers keep connections for what they may ask next.
        for connection in self._open:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def web() -> Iterator[Web]:
    site = Web()
    yield site
    site.close()


@contextmanager
def sandbox(found: dict[str, int]) -> Iterator[Embedded]:
    """A sandbox at these ports with something in it, and its screens for a browser."""
    from extensions.queues.settings import QueueSettings
    from extensions.topics.settings import TopicSettings

    ours = QueueSettings(queues_port=found["queues"]), TopicSettings(topics_port=found["topics"])
    numbers = {f"{name}_port": found[name] for name in ("aws", "control")}
    with embedded(Settings(data_dir=None, extensions=ours, **numbers)) as running:
        httpx.put(f"{running.urls['queues']}/v2/queues/mine", headers=_CLIENT, trust_env=False)
        s3(running).create_bucket(Bucket="mine")
        code = f"from tui.browser.serving import serve; serve({running.control!r}, {found['tui']})"
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.DEVNULL) as served:
            wait_until_served(f"http://127.0.0.1:{found['tui']}")
            try:
                yield running
            finally:
                # Asked to end, it waits a minute for connections that nobody closes.
                served.kill()


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[str]:
    """Chromium, for which every name of evil.example is this machine; where it is told what to do."""
    with running_chromium(tmp_path, f"--host-resolver-rules=MAP {EVIL} 127.0.0.1") as address:
        yield address


@contextmanager
def opened(browser: str, page: str) -> Iterator[Tab]:
    """A tab with the page."""
    with open_tab(browser) as tab:
        tab.open(page)
        yield tab


def attacked(tab: Tab, base: str, name: str) -> dict[str, str]:
    """What a page gets to see of each of its attacks on ``base``, which are the requests of that port."""
    given = (base, *_WRITES[name], _SOCKETS[name])
    arguments = ", ".join(msgspec.json.encode(each).decode() for each in given)
    seen: dict[str, str] = tab.eval(f"({_ATTACK})({arguments})")
    return seen


def s3(running: Embedded) -> Any:
    keys = {"aws_access_key_id": "a", "aws_secret_access_key": "b", "region_name": "us-east-1"}
    return boto3.client("s3", endpoint_url=running.aws, **keys)


def held(running: Embedded) -> tuple[Any, ...]:
    """What the sandbox has, that an attack would change."""
    queue = httpx.get(f"{running.urls['queues']}/v2/queues/mine/stats", headers=_CLIENT, trust_env=False)
    resets = [event for event in running.components.events.since() if event.kind == "sandbox.reset"]
    topics = running.components.extensions["topics"].service.open().summaries()
    return (
        [bucket["Name"] for bucket in s3(running).list_buckets()["Buckets"]],
        queue.json()["messages"]["total"],
        resets,
        [topic.name for topic in topics],
    )


def test_a_page_of_another_site_gets_nowhere(browser: str, web: Web) -> None:
    """Fetches, simple, blind or asked about first, forms, images, scripts, sockets: at each port the same."""
    numbers = {name: free_port() for name in _WRITES}
    refused = dict.fromkeys(("simple", "asked", "read", "image", "script", "socket"), "failed")
    refused |= {"blind": "opaque", "form": "done"}
    with opened(browser, f"http://{EVIL}:{web.port}/page") as tab:
        with sandbox(numbers) as running:
            before = held(running)
            for name, port in numbers.items():
                assert attacked(tab, f"http://127.0.0.1:{port}", name) == refused, name
            assert held(running) == before
        # The same page gets through to who lets it in, so that its attacks are some.
        other = Web()
        seen = attacked(tab, f"http://127.0.0.1:{other.port}", "control")
        other.close()
    assert all(seen[way].startswith("200:") for way in ("simple", "asked", "read")), seen
    assert {"POST /reset", "OPTIONS /reset", "GET /health"} <= {*other.asked}


def test_a_name_that_was_rebound_gets_nowhere(browser: str) -> None:
    """The page's server goes, the sandbox comes in its place: the page may read all, and there is nothing."""
    sites = {name: Web() for name in _WRITES}
    numbers = {name: site.port for name, site in sites.items()}
    with ExitStack() as stack:
        tabs = {
            name: stack.enter_context(opened(browser, f"http://{EVIL}:{port}/"))
            for name, port in numbers.items()
        }
        for site in sites.values():
            site.close()
        with sandbox(numbers) as running:
            before = held(running)
            for name, port in numbers.items():
                seen = attacked(tabs[name], f"http://{EVIL}:{port}", name)
                assert {seen[way] for way in ("simple", "blind", "asked", "read")} == {"403:"}, (name, seen)
                assert {seen[way] for way in ("image", "script", "socket")} == {"failed"}, (name, seen)
            assert held(running) == before
