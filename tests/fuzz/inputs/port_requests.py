"""Whole requests to the ports of a sandbox that runs in this process, in memory.

An input is a line with a method, a target and, where AWS has one, the name of an operation; then a body.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import Any, Final
from urllib.parse import unquote

from emulator.assembly.embedded import Embedded
from emulator.clock import Clock
from emulator.http.asgi import App, ClientGoneError, Message
from emulator.http.fallback_port import FallbackPort
from emulator.settings.settings import Settings
from extensions.functions.engine.errors import LambdaError
from extensions.functions.engine.function_code import CodeStore, zip_files
from extensions.functions.http.rest import lambda_rest
from tests.fuzz.fuzzed_parser import FuzzedParser, Parse, refusals
from tests.fuzz.memory_transport import ByteLoop

_RESET_EVERY: Final = 200
"""Inputs: what they made is gone then."""
_HERE: Final = ("127.0.0.1", "::1", "localhost")
_HEADERS: Final = (
    (b"host", b"localhost"),
    (b"client-id", b"3381af92-2b9e-11e3-b191-71861300734c"),
    (b"x-project-id", b"p"),
    (b"content-type", b"application/json"),
)


class _Sandbox(Embedded):
    """Remembers the applications of its ports; nothing else is made of its URLs."""

    def __init__(self, settings: Settings, clock: Clock) -> None:
        super().__init__(settings, clock)
        self.apps: dict[str, App] = {}

    async def _listen(self, app: App, port: int) -> str:
        self.apps["control" if self.apps else "aws"] = app
        return await super()._listen(app, port)

    async def _listen_at(self, port: FallbackPort, app: App) -> str:
        self.apps[port.name] = app
        return await super()._listen_at(port, app)


def _open(name: str) -> Parse:
    """Requests to the port of this name."""
    stay_on_this_machine()
    loop = ByteLoop()
    settings = Settings(aws_port=0, control_port=0, data_dir=None, seed=7)
    sandbox = _Sandbox(settings, Clock(frozen_at=1_800_000_000.0))
    loop.run(sandbox.__aenter__())
    loop.watch(sandbox.components.events)
    app = next(app for known, app in sandbox.apps.items() if name in known)
    done = 0

    def parse(data: bytes) -> None:
        nonlocal done
        head, _, body = data.partition(b"\n")
        method, _, rest = head.decode("latin-1").partition(" ")
        target, _, operation = rest.partition(" ")
        if "/reset" in target or "/prune" in target or target.startswith("/clock"):
            return
        loop.run(request(app, method, target, body, operation.encode("latin-1")))
        done += 1
        if done % _RESET_EVERY == 0:
            sandbox.reset()

    return parse


async def request(
    app: App, method: str, target: str, body: bytes, operation: bytes, *, headers: Iterable[Any] = _HEADERS
) -> None:
    """Call an application as a connection does whose client leaves when its request is answered or sent."""
    path, _, query = target.partition("?")
    scope: dict[str, Any] = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "scheme": "http",
        "root_path": "",
        "method": method,
        "path": unquote(path),
        "raw_path": path.encode("latin-1"),
        "query_string": query.encode("latin-1"),
        "headers": [*headers, *([(b"x-amz-target", operation)] if operation else [])],
        "client": ("127.0.0.1", 50000),
        "server": ("127.0.0.1", 4566),
    }
    coming: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        return coming.pop() if coming else {"type": "http.disconnect"}

    async def send(_message: Message) -> None:
        """Forget it."""

    with suppress(ClientGoneError):
        await app(scope, receive, send)


def stay_on_this_machine() -> None:
    """Let nothing that an input names be called."""
    connect: Callable[[socket.socket, Any], None] = socket.socket.connect
    find = socket.getaddrinfo

    def check(taken: socket.socket, address: Any) -> None:
        if isinstance(address, tuple) and address[0] not in _HERE:
            raise ConnectionRefusedError
        connect(taken, address)

    def resolve(host: Any, *given: Any, **named: Any) -> Any:
        if host not in _HERE:
            raise socket.gaierror
        return find(host, *given, **named)

    socket.socket.connect = check  # type: ignore[method-assign, assignment]
    socket.getaddrinfo = resolve


def _seed(name: str, head: str, body: str | bytes = "") -> tuple[str, bytes]:
    return name, head.encode() + b"\n" + (body if isinstance(body, bytes) else body.encode())


def _control_seeds() -> Iterable[tuple[str, bytes]]:
    fault = (
        '{"type": "duplicate", "channel": "input", "toxicity": 0.5, "attributes": {}, "when": {"every": 3}}'
    )
    message = '{"messageHeader": {"messageId": "m-1"}, "messageBody": {}}'
    yield _seed("status", "GET /status")
    yield _seed("stream", "GET /streams/input")
    yield _seed("reshard", "POST /streams/input/reshard", '{"action": "scale", "count": 4}')
    yield _seed("fault", "POST /faults", fault)
    yield _seed("change", "PATCH /faults/duplicate", '{"toxicity": 1, "limit": 2}')
    yield _seed("send", "POST /messages", f'{{"channel": "input", "messages": [{message}], "key": "k"}}')
    yield _seed("messages", "GET /messages?filter=type%20%3D%20VocabularyRead&limit=5&cursor=1")
    yield _seed("counts", "GET /messages/counts?filter=code%3DGENERR001&by=type")
    yield _seed("events", "GET /events?since=0&limit=10&kind=sandbox.started")
    yield _seed("verdict", "POST /diagnosis/verdict", "{}")
    yield _seed("chaos", "POST /_localstack/chaos/faults", '[{"service": "kinesis", "probability": 0.5}]')
    yield _seed("permission", "PUT /access/key", '{"stream": ["input"], "operations": ["PutRecord"]}')
    yield _seed("populate", "POST /populate", '{"streams": {"a": 1}, "buckets": ["b"]}')
    yield _seed("objects", "GET /buckets/rdss-error/objects?prefix=a&limit=3")
    yield _seed("records", "GET /topics/records?topic=objects&filter=%2Fa%20%3D%201")
    yield _seed("sequence", "GET /sequences/3e1b/joined")
    yield _seed("processing", "POST /processing/messages", '{"system": "s", "body": "{}"}')


def _queue_seeds() -> Iterable[tuple[str, bytes]]:
    yield _seed(
        "create", "PUT /v2/queues/q", '{"_max_messages_post_size": 262144, "_default_message_ttl": 3600}'
    )
    yield _seed(
        "post", "POST /v2/queues/q/messages", '{"messages": [{"ttl": 300, "delay": 1, "body": {"a": 1}}]}'
    )
    yield _seed("list", "GET /v2/queues/q/messages?limit=5&marker=6&echo=true&include_claimed=true")
    yield _seed("claim", "POST /v2/queues/q/claims?limit=2", '{"ttl": 60, "grace": 60}')
    yield _seed("patch", "PATCH /v2/queues/q", '[{"op": "replace", "path": "/metadata/a", "value": 1}]')
    yield _seed(
        "subscribe",
        "POST /v2/queues/q/subscriptions",
        '{"subscriber": "mailto:a@b", "ttl": 600, "options": {}}',
    )
    yield _seed(
        "share",
        "POST /v2/queues/q/share",
        '{"paths": ["messages"], "methods": ["GET"], "expires": "2030-01-01T00:00:00Z"}',
    )
    yield _seed("purge", "POST /v2/queues/q/purge", '{"resource_types": ["messages"]}')
    yield _seed("old", "POST /v1/queues/q/messages", '[{"ttl": 300, "body": "x"}]')
    yield _seed("delete", "DELETE /v2/queues/q/messages?ids=a,b&claim_ids=c&pop=2")
    yield _seed("health", "GET /v1.1/health")


def _topic_seeds() -> Iterable[tuple[str, bytes]]:
    publish = (
        '{"cmd": "publish", "topic": "t", "data": {"a": 1}, "ack_type": "persisted,processed", "seq": 1}'
    )
    yield _seed("publish", "POST /topics/commands", publish)
    yield _seed(
        "several",
        "POST /topics/commands",
        f'[{publish}, {{"cmd": "sow", "topic": "objects", "filter": "/a > 1"}}]',
    )
    yield _seed("delta", "POST /topics/commands", publish.replace("publish", "delta_publish", 1))
    yield _seed(
        "sow",
        "POST /topics/commands",
        '{"cmd": "sow_and_subscribe", "topic": "^o.*", "filter": "/a LIKE \'x\'", "orderby": "/a DESC, /b TEXT",'
        ' "top_n": 3, "batch_size": 2, "opts": "oof,conflation=100ms", "cmd_id": "1"}',
    )
    yield _seed(
        "delete",
        "POST /topics/commands",
        '{"cmd": "sow_delete", "topic": "t", "sow_keys": "1,2", "opts": "cancel"}',
    )
    yield _seed("follow", "GET /topics/messages?topic=t&bookmark=20270101T000000Z&opts=rate%3D10")
    yield _seed(
        "bookmarks", "POST /topics/commands", '{"cmd": "subscribe", "topic": "t", "bookmark": "1|2|3|,0"}'
    )
    yield _seed("shipment", "POST /topics/replication", '{"origin": "a", "after": 0, "entries": []}')


def _open_lambda() -> Parse:
    """The reading of requests and of code; nothing is run, since code that an input brings could do anything."""

    def parse(data: bytes) -> None:
        if data.startswith(b"PK"):
            store = CodeStore()
            with refusals(LambdaError):
                store.add(data)
            store.close()
            return
        head, _, body = data.partition(b"\n")
        method, _, target = head.decode("latin-1").partition(" ")
        path, _, query = target.partition("?")
        scope = {
            "method": method,
            "raw_path": path.encode("latin-1"),
            "query_string": query.encode("latin-1"),
        }
        with refusals(LambdaError):
            lambda_rest().read(scope, {b"x-amz-invocation-type": b"Event"}, body)

    return parse


def _lambda_seeds() -> Iterable[tuple[str, bytes]]:
    made = (
        '{"FunctionName": "f", "Runtime": "python3.12", "Handler": "a.b", "Role": "arn:aws:iam::1:role/r", "Timeout": 3,'
        ' "Code": {"ZipFile": "UEs="}, "Environment": {"Variables": {"A": "b"}}, "Layers": ["a"], "Publish": true}'
    )
    yield _seed("create", "POST /2015-03-31/functions", made)
    yield _seed("invoke", "POST /2015-03-31/functions/f/invocations?Qualifier=1", "{}")
    yield _seed(
        "mapping",
        "POST /2015-03-31/event-source-mappings",
        '{"FunctionName": "f", "BatchSize": 10, "StartingPositionTimestamp": 1.5}',
    )
    yield _seed("list", "GET /2015-03-31/functions?MaxItems=5&Marker=x")
    yield _seed("tags", "DELETE /2017-03-31/tags/arn%3Aaws?tagKeys=a&tagKeys=b")
    yield "archive", zip_files({"a.py": b"def b(event, context): return 1\n" * 9, "b/c": b"\1"})


CONTROL = FuzzedParser("requests to the control API", partial(_open, "control"), _control_seeds)
QUEUES = FuzzedParser("requests to the queues port", partial(_open, "queues"), _queue_seeds)
TOPICS = FuzzedParser("requests to the topics port", partial(_open, "topics"), _topic_seeds)
LAMBDA = FuzzedParser("requests and code archives of Lambda", _open_lambda, _lambda_seeds)
