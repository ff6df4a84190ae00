"""A client that costs next to nothing: rendered requests over blocking sockets, answers hardly looked at."""

from __future__ import annotations

import base64
import re
import socket
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, Self

import msgspec

from emulator.clock import stopwatch

_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
_NEXT = re.compile(rb'"NextShardIterator": ?"([^"]+)"')
_TIMEOUT_SECONDS = 60


class BadAnswerError(Exception):
    """A subject refused or broke off a request."""


class Connection:
    """One keep-alive connection to a Kinesis endpoint."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._socket = self._opened()
        self._answers = 0
        self._buffer = bytearray(1 << 24)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def send(self, request: bytes) -> memoryview:
        """Send a rendered request; the body of its answer, good until the next call.

        Raises BadAnswerError.
        """
        try:
            head, answer = self._exchange(request)
        except (BadAnswerError, ConnectionError):
            # As every HTTP client does when a server has closed a connection that it kept.
            if not self._answers:
                raise
            self._reopen()
            head, answer = self._exchange(request)
        self._answers += 1
        if b"connection: close" in head.lower():
            self._reopen()
        if b" 200 " not in head[:16]:
            raise BadAnswerError(f"{head[:60]!r}: {bytes(answer[:300])!r}")
        return answer

    def _opened(self) -> socket.socket:
        opened = socket.create_connection(("127.0.0.1", self._port), timeout=_TIMEOUT_SECONDS)
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return opened

    def _reopen(self) -> None:
        self._socket.close()
        self._socket = self._opened()
        self._answers = 0

    def _exchange(self, request: bytes) -> tuple[bytes, memoryview]:
        self._socket.sendall(request)
        view, filled = memoryview(self._buffer), 0
        while (end := self._buffer.find(b"\r\n\r\n", 0, filled)) < 0:
            filled += self._more(view[filled:])
        head = bytes(view[:end])
        length = _LENGTH.search(head)
        if length is None:
            return head, memoryview(self._chunks(view, end + 4, filled))
        body = end + 4 + int(length[1])
        while filled < body:
            filled += self._more(view[filled:])
        return head, view[end + 4 : body]

    def call(self, operation: str, request: Any) -> Any:
        """Do an operation the ordinary way."""
        body = self.send(rendered(operation, request))
        return msgspec.json.decode(body) if len(body) else {}

    def _more(self, into: memoryview) -> int:
        count = self._socket.recv_into(into)
        if not count:
            raise BadAnswerError("the connection was closed in the middle of an answer")
        return count

    def _chunks(self, view: memoryview, start: int, filled: int) -> bytes:
        """The body of a chunked answer (RFC 9112 section 7.1)."""
        while self._buffer.rfind(b"0\r\n\r\n", start, filled) != filled - 5:
            filled += self._more(view[filled:])
        body, at = bytearray(), start
        while size := int(self._buffer[at : (line := self._buffer.index(b"\r\n", at))], 16):
            body += view[line + 2 : line + 2 + size]
            at = line + 2 + size + 2
        return bytes(body)


def rendered(operation: str, request: Any) -> bytes:
    """The bytes of a whole request; its signature is of the right form and wrong."""
    body = msgspec.json.encode(request)
    head = (
        "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-amz-json-1.1\r\n"
        f"X-Amz-Target: Kinesis_20131202.{operation}\r\nX-Amz-Date: 20260101T000000Z\r\n"
        "Authorization: AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20260101/us-east-1/kinesis/"
        f"aws4_request, SignedHeaders=host;x-amz-date;x-amz-target, Signature={'0' * 64}\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def put_records(stream: str, count: int, size: int, salt: int = 0) -> bytes:
    """A PutRecords of ``count`` records of ``size`` bytes with keys spread over the shards."""
    data = base64.b64encode(bytes(i % 251 for i in range(size))).decode()
    records = [{"Data": data, "PartitionKey": f"key-{salt}-{i}"} for i in range(count)]
    return rendered("PutRecords", {"StreamName": stream, "Records": records})


class Timing(NamedTuple):
    """How long calls took, in seconds, and all of them together."""

    each: list[float]
    total: float

    def quantile(self, q: float) -> float:
        ordered = sorted(self.each)
        return ordered[min(len(ordered) - 1, int(len(ordered) * q))]

    def part(self, start: int, end: int | None) -> float:
        """The median of the calls from one place to another."""
        return Timing(self.each[start:end], 0.0).quantile(0.5)


def repeated(
    port: int, requests: list[bytes], count: int, connections: int = 1, *, seconds: float = 60.0
) -> Timing:
    """Send up to ``count`` requests in all, for up to ``seconds``, over so many connections at once.

    They are taken in turn from ``requests``. Raises BadAnswerError.
    """
    until = stopwatch() + seconds

    def one(first: int) -> list[float]:
        took = []
        with Connection(port) as connection:
            for i in range(first, count, connections):
                began = stopwatch()
                if began > until:
                    break
                connection.send(requests[i % len(requests)])
                took.append(stopwatch() - began)
        return took

    return _together(one, range(connections))


def drained(port: int, stream: str, shards: list[str], limit: int, *, seconds: float) -> tuple[int, float]:
    """Read each shard from its beginning on its own connection; how many records, in how many seconds."""
    began = stopwatch()
    with ThreadPoolExecutor(len(shards)) as pool:
        counts = pool.map(lambda shard: _drain(port, stream, shard, limit, began + seconds), shards)
        return sum(counts), stopwatch() - began


def _drain(port: int, stream: str, shard: str, limit: int, until: float) -> int:
    with Connection(port) as connection:
        place = {"StreamName": stream, "ShardId": shard, "ShardIteratorType": "TRIM_HORIZON"}
        iterator, read = connection.call("GetShardIterator", place).get("ShardIterator"), 0
        if iterator is None:
            raise BadAnswerError("there is no iterator")
        while True:
            body = bytes(connection.send(rendered("GetRecords", {"ShardIterator": iterator, "Limit": limit})))
            count = body.count(b'"SequenceNumber"')
            found = _NEXT.search(body, max(0, len(body) - 4096)) or _NEXT.search(body)
            read += count
            if not count or not found or stopwatch() > until:
                return read
            iterator = found[1].decode()


def _together(one: Callable[[int], list[float]], places: Iterable[int]) -> Timing:
    places = list(places)
    began = stopwatch()
    with ThreadPoolExecutor(len(places)) as pool:
        each = [seconds for took in pool.map(one, places) for seconds in took]
    return Timing(each, stopwatch() - began)
