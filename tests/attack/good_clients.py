"""Clients that work while others attack, in a process of their own, and how long they waited at most.

``python -m tests.attack.good_clients '{"aws": "http://...", ...}'`` asks every port again and again until its
standard input ends, then prints one JSON object.
"""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pika

from emulator.clock import stopwatch
from tests.attack.attacked_sandbox import AttackedSandbox

PROMISE = 0.5
"""Seconds that one client may make another wait at most."""
BYSTANDER = "bystander"
_ROOT = Path(__file__).parents[2]
_PAUSE_SECONDS = 0.01
_TIMEOUT_SECONDS = 40.0
_MOST_FAILURES = 20


@dataclass
class Seen:
    """What good clients saw, by port: longest wait and median in seconds, how many answers, what failed."""

    longest: dict[str, float] = field(default_factory=dict)
    median: dict[str, float] = field(default_factory=dict)
    answers: dict[str, int] = field(default_factory=dict)
    failures: dict[str, list[str]] = field(default_factory=dict)


def assert_nobody_waited(seen: Seen, promise: float = PROMISE) -> None:
    """Every port kept its promise, beyond what the machine took from a bystander, and nothing failed."""
    assert seen.failures == {}
    machine = seen.longest[BYSTANDER]
    late = {port: wait for port, wait in seen.longest.items() if wait > promise + machine}
    assert not late, f"waited longer than {promise} s, and {machine:.3f} s of the machine: {seen.longest}"
    assert min(seen.answers.values()) > 1, seen.answers


@contextmanager
def watched(sandbox: AttackedSandbox) -> Iterator[Seen]:
    """Have good clients work on every port while the context lasts; afterwards it says what they saw."""
    seen = Seen()
    command = [sys.executable, "-m", "tests.attack.good_clients", json.dumps(sandbox.urls)]
    process = subprocess.Popen(command, cwd=_ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        # It has had an answer of every port.
        assert process.stdout.readline() == b"ready\n"
        yield seen
    finally:
        process.stdin.close()
        said = process.stdout.read()
        process.stdout.close()
        assert process.wait(_TIMEOUT_SECONDS) == 0
    seen.__dict__.update(json.loads(said))


class HttpClient:
    """Sends one request again and again on a connection that is kept, and opened anew when it breaks."""

    def __init__(self, url: str, method: str, path: str, headers: dict[str, str], body: bytes) -> None:
        self._place = urlsplit(url).hostname or "", urlsplit(url).port
        self._request = method, path, body, headers
        self._connection: http.client.HTTPConnection | None = None

    def ask(self) -> None:
        if self._connection is None:
            self._connection = http.client.HTTPConnection(*self._place, timeout=_TIMEOUT_SECONDS)
        try:
            self._connection.request(*self._request)
            answer = self._connection.getresponse()
            said = answer.read()
        except (OSError, http.client.HTTPException):
            self._connection.close()
            self._connection = None
            raise
        if answer.status >= 400:
            raise OSError(f"{answer.status} {said[:200]!r}")


class AmqpClient:
    """Publishes with confirms to a queue of its own."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._channel: Any = None

    def ask(self) -> None:
        if self._channel is None:
            self._channel = pika.BlockingConnection(pika.URLParameters(self._url)).channel()
            self._channel.queue_declare("good", arguments={"x-max-length": 10})
            self._channel.confirm_delivery()
        try:
            self._channel.basic_publish("", "good", b"x" * 500)
        except Exception:
            self._channel = None
            raise


def clients_of(urls: dict[str, str]) -> dict[str, Callable[[], None]]:
    """What asks each port once."""
    kinesis = {
        "authorization": "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/kinesis/aws4_request, "
        "SignedHeaders=host, Signature=0",
        "x-amz-date": "20260101T000000Z",
        "content-type": "application/x-amz-json-1.1",
    }
    made = HttpClient(
        urls["aws"],
        "POST",
        "/",
        {**kinesis, "x-amz-target": "Kinesis_20131202.CreateStream"},
        b'{"StreamName": "good", "ShardCount": 1}',
    )
    with suppress(OSError):  # of an earlier watch in the same sandbox
        made.ask()
    put = {**kinesis, "x-amz-target": "Kinesis_20131202.PutRecord"}
    record = b'{"StreamName": "good", "Data": "aGVsbG8=", "PartitionKey": "k"}'
    post = {
        "Client-ID": "3381af92-2b9e-11e3-b191-71861300734c",
        "X-Project-Id": "good",
        "content-type": "application/json",
    }
    message = b'{"messages": [{"body": "hello", "ttl": 60}]}'
    command = b'{"cmd": "publish", "topic": "good", "data": {"id": 1}}'
    found: dict[str, Any] = {
        "aws": HttpClient(urls["aws"], "POST", "/", put, record),
        "control": HttpClient(urls["control"], "GET", "/faults", {}, b""),
        "queues": HttpClient(urls["queues"], "POST", "/v2/queues/good/messages", post, message),
        "topics": HttpClient(
            urls["topics"], "POST", "/topics/commands", {"content-type": "application/json"}, command
        ),
        BYSTANDER: HttpClient(urls[BYSTANDER], "GET", "/", {}, b""),
    }
    if "amqp" in urls:
        found["amqp"] = AmqpClient(urls["amqp"])
    return {name: client.ask for name, client in found.items()}


class Watch:
    """Asks every port from a thread of its own until it is stopped."""

    def __init__(self, urls: dict[str, str]) -> None:
        self._stopped = threading.Event()
        self._waits: dict[str, list[float]] = {}
        self._failures: dict[str, list[str]] = {}
        self._threads = []
        for name, ask in clients_of(urls).items():
            ask()
            self._waits[name] = []
            self._threads.append(threading.Thread(target=self._watch, args=(name, ask)))

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> Seen:
        self._stopped.set()
        for thread in self._threads:
            thread.join()
        ordered = {name: sorted(waits) or [0.0] for name, waits in self._waits.items()}
        return Seen(
            longest={name: waits[-1] for name, waits in ordered.items()},
            median={name: waits[len(waits) // 2] for name, waits in ordered.items()},
            answers={name: len(waits) for name, waits in self._waits.items()},
            failures=self._failures,
        )

    def _watch(self, name: str, ask: Callable[[], None]) -> None:
        waits = self._waits[name]
        while not self._stopped.wait(_PAUSE_SECONDS):
            began = stopwatch()
            try:
                ask()
            except Exception as error:  # noqa: BLE001 -- whatever it is, a good client saw it
                failures = self._failures.setdefault(name, [])
                if len(failures) < _MOST_FAILURES:
                    failures.append(f"after {stopwatch() - began:.2f} s: {error!r}")
            waits.append(stopwatch() - began)


_BYSTANDER_PROGRAM = """
import asyncio
class Answering(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport = transport
    def data_received(self, data):
        self.transport.write(b"HTTP/1.1 200 OK\\r\\ncontent-length: 2\\r\\n\\r\\nok")
async def main():
    server = await asyncio.get_running_loop().create_server(Answering, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, __import__("sys").stdin.read)
asyncio.run(main())
"""


def main(urls: dict[str, str]) -> None:
    """Ask until the standard input ends."""
    bystander = subprocess.Popen(
        [sys.executable, "-c", _BYSTANDER_PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert bystander.stdout is not None
    watch = Watch({**urls, BYSTANDER: f"http://127.0.0.1:{int(bystander.stdout.readline())}"})
    watch.start()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.read()
    sys.stdout.write(json.dumps(watch.stop().__dict__))
    sys.stdout.flush()
    bystander.communicate()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
