"""A file server over HTTPS with ranges that simulates failures."""

from __future__ import annotations

import re
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from emulator.clock import Clock

_CHUNK_BYTES: Final = 1 << 16
_RANGE: Final = re.compile(r"bytes=(\d+)-(\d*)")


@dataclass(frozen=True, slots=True)
class Trouble:
    """The failures of every answer.

    ``cut_after`` closes the connection after this number of bytes. ``bytes_per_second`` limits the speed.
    ``damaged`` flips a bit of the file's last byte, so that no checksum matches. ``unavailable`` answers the
    first requests for a file with 503, this number of times.
    """

    cut_after: int | None = None
    bytes_per_second: float | None = None
    damaged: bool = False
    unavailable: int = 0


@dataclass(frozen=True, slots=True)
class Served:
    """One answer: the requested path, the first byte and the HTTP status."""

    path: str
    start: int
    status: int


class FileServer:
    """Serves the files below a folder within the context ``serving``; ``url`` ends without a slash.

    ``certificate`` is a PEM file with the host's key and certificate; without one it is plain HTTP.
    ``answers`` are the answers so far.
    """

    def __init__(
        self,
        folder: Path,
        certificate: Path | None,
        clock: Clock,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        trouble: Trouble | None = None,
    ) -> None:
        self.folder = folder.resolve()
        self.clock = clock
        self.trouble = trouble or Trouble()
        self.answers: list[Served] = []
        self._host = host
        self._server = ThreadingHTTPServer((host, port), _make_handler(self))
        self._server.daemon_threads = True
        self._scheme = "http" if certificate is None else "https"
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self._server.socket = context.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )

    @property
    def url(self) -> str:
        return f"{self._scheme}://{self._host}:{self._server.server_address[1]}"

    @contextmanager
    def serving(self) -> Iterator[FileServer]:
        """Serve on other threads while the context lasts."""
        thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), name="files", daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()
            thread.join()

    def find(self, path: str) -> Path | None:
        """The file for a URL's path, None where there is no such file below the folder."""
        try:
            found = (self.folder / unquote(path).lstrip("/")).resolve()
            return found if found.is_relative_to(self.folder) and found.is_file() else None
        except (OSError, ValueError, RuntimeError):  # no file can have such a name, or links go in a circle
            return None


def _make_handler(server: FileServer) -> type[BaseHTTPRequestHandler]:
    class Handler(_MisbehavingHandler):
        files = server

    return Handler


class _MisbehavingHandler(BaseHTTPRequestHandler):
    """Handles one connection."""

    protocol_version = "HTTP/1.1"
    timeout = 30
    files: FileServer

    def do_GET(self) -> None:
        try:
            self._answer()
        except OSError:  # the client is gone
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 -- http.server's name
        """Write no log: ``answers`` has the requests."""

    def _answer(self) -> None:
        files = self.files
        path = urlsplit(self.path).path
        file = files.find(path)
        asked_before = sum(served.path == path for served in files.answers)
        if asked_before < files.trouble.unavailable:
            self._refuse(path, HTTPStatus.SERVICE_UNAVAILABLE)
        elif file is None:
            self._refuse(path, HTTPStatus.NOT_FOUND)
        else:
            self._serve(path, file)

    def _refuse(self, path: str, status: HTTPStatus, *, content_range: str | None = None) -> None:
        self.files.answers.append(Served(path, 0, status))
        self.send_response(status)
        if content_range:
            self.send_header("Content-Range", content_range)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _serve(self, path: str, file: Path) -> None:
        about = file.stat()
        size, tag = about.st_size, f'"{about.st_mtime_ns:x}-{about.st_size:x}"'
        byte_range = _RANGE.fullmatch(self.headers.get("Range", ""))
        if byte_range and self.headers.get("If-Range", tag) != tag:
            byte_range = None
        start = int(byte_range[1]) if byte_range else 0
        end = min(int(byte_range[2]) + 1, size) if byte_range and byte_range[2] else size
        if byte_range and start >= size:
            self._refuse(path, HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE, content_range=f"bytes */{size}")
            return
        status = HTTPStatus.PARTIAL_CONTENT if byte_range else HTTPStatus.OK
        self.files.answers.append(Served(path, start, status))
        self.send_response(status)
        if byte_range:
            self.send_header("Content-Range", f"bytes {start}-{end - 1}/{size}")
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("ETag", tag)
        self.send_header("Content-Length", str(end - start))
        self.end_headers()
        self._send(file, start, end, size)

    def _send(self, file: Path, start: int, end: int, size: int) -> None:
        trouble = self.files.trouble
        stop = end if trouble.cut_after is None else min(end, start + trouble.cut_after)
        with file.open("rb") as opened:
            opened.seek(start)
            while (at := opened.tell()) < stop:
                chunk = opened.read(min(_CHUNK_BYTES, stop - at))
                if not chunk:
                    break
                if trouble.damaged and at + len(chunk) == size:
                    chunk = chunk[:-1] + bytes([chunk[-1] ^ 1])
                if trouble.bytes_per_second:
                    self.files.clock.wait(len(chunk) / trouble.bytes_per_second)
                self.wfile.write(chunk)
        if stop < end:
            self.close_connection = True
