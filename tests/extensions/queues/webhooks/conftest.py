"""A subscriber: a web server that keeps what it is sent and answers as it is told."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

import msgspec
import pytest


class Received(NamedTuple):
    """One POST."""

    headers: dict[str, str]
    body: Any


@dataclass
class Subscriber:
    """``answers`` are the status codes to give in turn, then 200."""

    url: str = ""
    answers: list[int] = field(default_factory=list)
    received: queue.Queue[Received] = field(default_factory=queue.Queue)

    def next(self) -> Received:
        """What comes next, within ten seconds."""
        return self.received.get(timeout=60)

    @property
    def idle(self) -> bool:
        return self.received.empty()


@pytest.fixture
def subscriber() -> Iterator[Subscriber]:
    found = Subscriber()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status = found.answers.pop(0) if found.answers else 200
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()
            try:
                said = msgspec.json.decode(body)
            except msgspec.DecodeError:
                said = body.decode()
            found.received.put(Received(dict(self.headers), said))

        def log_message(self, *_: object) -> None:
            """Silence."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    found.url = f"http://127.0.0.1:{server.server_address[1]}/hook"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield found
    server.shutdown()
    server.server_close()
    thread.join()
