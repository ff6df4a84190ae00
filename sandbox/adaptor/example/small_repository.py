"""A repository application as a university may have it: deposits behind an HTTP API, without messages.

- ``GET /deposits?since=TIME&page=N``: ``{"deposits": [...], "next": "..."}``, changes since then, inclusive
- ``POST /deposits``: create; ``PUT /deposits/ID``: change fields; ``DELETE /deposits/ID``: withdraw
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import Any, Final
from urllib.parse import parse_qs, urlencode, urlsplit

from emulator.clock import Clock
from rdss_sandbox.text.timestamps import timestamp

JSON = dict[str, Any]
_PAGE: Final = 20
_LARGEST_BODY: Final = 10_000_000


class SmallRepository:
    """The deposits and their HTTP server; ``url`` answers within the context ``serving``."""

    def __init__(self, clock: Clock, *, host: str = "127.0.0.1", port: int = 0) -> None:
        self._clock = clock
        self._deposits: dict[str, JSON] = {}
        self._lock = threading.RLock()
        self._server = ThreadingHTTPServer((host, port), _make_handler(self))
        self._server.daemon_threads = True
        self.url = f"http://{host}:{self._server.server_address[1]}"

    @contextmanager
    def serving(self) -> Iterator[SmallRepository]:
        """Answer requests on other threads while the context lasts."""
        thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()
            thread.join()

    def deposit(self, fields: JSON) -> JSON:
        """Create a deposit and return it."""
        with self._lock:
            return self._store({"state": "live", **fields, "id": str(len(self._deposits) + 1)})

    def change(self, deposit_id: str, fields: JSON) -> JSON | None:
        """Change fields of a deposit and return it; None for an unknown one."""
        with self._lock:
            before = self._deposits.get(deposit_id)
            return None if before is None else self._store({**before, **fields, "id": deposit_id})

    def changes(self, since: str, page: int) -> JSON:
        """A page of the deposits that changed since then, as the API shows it."""
        with self._lock:
            changed = sorted(
                (each for each in self._deposits.values() if each["modified"] >= since),
                key=lambda each: each["modified"],
            )
        shown = changed[page * _PAGE : (page + 1) * _PAGE]
        more = len(changed) > (page + 1) * _PAGE
        query = urlencode({"since": since, "page": page + 1})
        return {"deposits": shown, "next": f"/deposits?{query}" if more else None}

    def _store(self, deposit: JSON) -> JSON:
        stored = {**deposit, "modified": timestamp(self._clock.time())}
        self._deposits[stored["id"]] = stored
        return stored


def sample_deposits() -> list[JSON]:
    """The sample deposits: a public dataset, a thesis under embargo, an article."""
    text = (files("sandbox.adaptor.example") / "deposits.json").read_text(encoding="utf-8")
    found: list[JSON] = json.loads(text)
    return found


def _make_handler(repository: SmallRepository) -> type[BaseHTTPRequestHandler]:
    class Handler(_Handler):
        app = repository

    return Handler


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 30
    app: SmallRepository

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        query = parse_qs(parts.query)
        page = query.get("page", ["0"])[0]
        if parts.path != "/deposits" or not page.isdecimal():
            self._answer(HTTPStatus.NOT_FOUND, {"error": "GET /deposits?since=TIME&page=N"})
        else:
            self._answer(HTTPStatus.OK, self.app.changes(query.get("since", [""])[0], int(page)))

    def do_POST(self) -> None:
        fields = self._fields()
        if self.path != "/deposits" or fields is None:
            self._answer(HTTPStatus.BAD_REQUEST, {"error": "POST a JSON object to /deposits"})
        else:
            self._answer(HTTPStatus.CREATED, self.app.deposit(fields))

    def do_PUT(self) -> None:
        fields = self._fields()
        if fields is None:
            self._answer(HTTPStatus.BAD_REQUEST, {"error": "PUT a JSON object to /deposits/ID"})
        else:
            self._changed(fields)

    def do_DELETE(self) -> None:
        self._changed({"state": "withdrawn"})

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 -- http.server's name
        """Write no log."""

    def _changed(self, fields: JSON) -> None:
        prefix, _, deposit_id = self.path.rpartition("/")
        changed = self.app.change(deposit_id, fields) if prefix == "/deposits" else None
        if changed is None:
            self._answer(HTTPStatus.NOT_FOUND, {"error": f"there is no deposit {deposit_id}"})
        else:
            self._answer(HTTPStatus.OK, changed)

    def _fields(self) -> JSON | None:
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > _LARGEST_BODY:
            self.close_connection = True
            return None
        try:
            found = json.loads(self.rfile.read(int(length)))
        except ValueError:
            return None
        return found if isinstance(found, dict) else None

    def _answer(self, status: HTTPStatus, body: JSON) -> None:
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)
