"""Topics as their clients reach them: from one WebSocket to another, and by requests over HTTP.

The clients are rendered bytes over blocking sockets, which leaves the machine to the sandbox.
"""

from __future__ import annotations

import base64
import http.client
import json
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from statistics import median
from typing import Self

from emulator.clock import stopwatch
from rdss_sandbox.installed_extensions import list_ports
from tests.bench.load import BadAnswerError
from tests.bench.rows import US, Row

MESSAGES = 50_000
REQUESTS = 2_000
_TIMEOUT_SECONDS = 120
_PUBLISHED = b'"cmd":"publish"'


def over_the_wire(messages: int = MESSAGES, requests: int = REQUESTS) -> list[Row]:
    """Publishes a second from WebSocket to WebSocket, and how long a publish over HTTP takes."""
    rows = []
    with sandbox() as port:
        for topic, what in (("passing", "nothing kept"), ("objects", "state of the world and log")):
            measure = f"topics: publishes over a WebSocket to a subscriber, {what}"
            rows.append(Row(measure, US, _rate(port, topic, messages), "publishes/s", "more"))
        rows.append(Row("topics: a publish over HTTP, processed", US, _latency(port, requests), "ms"))
    return rows


@contextmanager
def sandbox() -> Iterator[int]:
    """A sandbox in a process and folder of its own; its topics port."""
    ports = [option for name in ("aws", "control", *dict(list_ports())) for option in (f"--{name}-port", "0")]
    command = [
        sys.executable,
        "-m",
        "sandbox",
        "up",
        "--json",
        "--amqp",
        "none",
        "--data-dir",
        "data",
        *ports,
    ]
    with (
        tempfile.TemporaryDirectory(prefix="bench-") as folder,
        subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE) as process,
    ):
        try:
            assert process.stdout is not None
            url: str = json.loads(process.stdout.readline())["ports"]["topics"]
            yield int(url.rpartition(":")[2])
        finally:
            process.terminate()


class WebSocket:
    """One connection; frames are sent as they were rendered and what comes is only counted."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=_TIMEOUT_SECONDS)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        key = base64.b64encode(bytes(16)).decode()
        self._socket.sendall(
            f"GET /topics/ws HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nconnection: upgrade\r\n"
            f"upgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: {key}\r\n\r\n".encode()
        )
        self.wait_for(b"\r\n\r\n", 1)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def send(self, frames: bytes) -> None:
        self._socket.sendall(frames)

    def wait_for(self, mark: bytes, count: int) -> None:
        """Read until ``mark`` came so often. Raises BadAnswerError when the other end closes before."""
        kept = b""
        while count > 0:
            came = self._socket.recv(1 << 20)
            if not came:
                raise BadAnswerError(f"the connection was closed with {count} still to come")
            kept += came
            count -= kept.count(mark)
            kept = kept[kept.rfind(mark) + len(mark) :] if mark in kept else kept[-len(mark) + 1 :]


def frame(command: dict[str, object]) -> bytes:
    """A command as a client's text frame; its mask is zero, so that it stays as it is."""
    text = json.dumps(command, separators=(",", ":")).encode()
    length = bytes([0x80 | len(text)]) if len(text) < 126 else b"\xfe" + len(text).to_bytes(2, "big")
    return b"\x81" + length + bytes(4) + text


def _rate(port: int, topic: str, messages: int) -> float:
    frames = b"".join(frame(_publish(topic, number)) for number in range(messages))
    with WebSocket(port) as reader, WebSocket(port) as writer, ThreadPoolExecutor(1) as pool:
        subscribe = {"cmd": "subscribe", "topic": topic, "filter": "/kind = 'x'", "sub_id": "1"}
        reader.send(frame(subscribe | {"ack_type": "processed"}))
        reader.wait_for(b'"success"', 1)
        came = pool.submit(reader.wait_for, _PUBLISHED, messages)
        began = stopwatch()
        writer.send(frames)
        came.result()
        return messages / (stopwatch() - began)


def _latency(port: int, requests: int) -> float:
    """The median milliseconds of a publish and its answer, one at a time."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_TIMEOUT_SECONDS)
    times = []
    for number in range(requests):
        body = json.dumps(_publish("objects", number))
        began = stopwatch()
        connection.request("POST", "/topics/commands", body)
        answer = connection.getresponse()
        answer.read()
        times.append(stopwatch() - began)
        if answer.status != 200:
            raise BadAnswerError(f"{answer.status} {answer.reason}")
    connection.close()
    return median(times) * 1000


def _publish(topic: str, number: int) -> dict[str, object]:
    data = {"objectUUID": str(number % 10_000), "kind": "x", "title": f"the object with the number {number}"}
    return {"cmd": "publish", "topic": topic, "data": data}
