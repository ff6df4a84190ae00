"""Attacks on what is behind the AMQP port: much work for the broker by few bytes, or by many of a kind."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from itertools import islice

import httpx
from pamqp import commands
from pamqp.base import Frame
from pamqp.body import ContentBody
from pamqp.frame import marshal
from pamqp.header import ContentHeader

from emulator.clock import stopwatch
from tests.attack.amqp_attacks import connected
from tests.attack.http_attacks import opened

_QOS_OK = b"\x00\x3c\x00\x0b"
_FRAMES_AT_ONCE = 500
_READ_SECONDS = 60.0
SHORT = {"x-max-length": 10}
SHORTEST = {"x-max-length": 1}


def declared(name: str, **more: object) -> commands.Queue.Declare:
    return commands.Queue.Declare(queue=name, nowait=True, **more)


def exchange(name: str, kind: str) -> commands.Exchange.Declare:
    return commands.Exchange.Declare(exchange=name, exchange_type=kind, nowait=True)


def bound(source: str, key: str = "", queue: str = "sink") -> commands.Queue.Bind:
    return commands.Queue.Bind(queue=queue, exchange=source, routing_key=key, nowait=True)


def message(
    target: str, key: str = "", properties: commands.Basic.Properties | None = None, size: int = 12
) -> bytes:
    """The frames of one message on channel 1."""
    head = ContentHeader(0, size, properties or commands.Basic.Properties())
    parts = (commands.Basic.Publish(exchange=target, routing_key=key), head, ContentBody(bytes(size)))
    return b"".join(marshal(part, 1) for part in parts)


def ask_for(connection: socket.socket, methods: Iterable[Frame]) -> None:
    """Have the broker do all of these, none of which it answers."""
    left = iter(methods)
    while some := list(islice(left, _FRAMES_AT_ONCE)):
        connection.sendall(b"".join(marshal(each, 1) for each in some))
        sync(connection)


def sync(connection: socket.socket) -> None:
    """Wait until all that was sent is handled."""
    connection.settimeout(_READ_SECONDS)
    connection.sendall(marshal(commands.Basic.Qos(), 1))
    came = b""
    while _QOS_OK not in came:
        piece = connection.recv(1 << 20)
        assert piece, came[-200:]
        came = came[-20:] + piece


def repeated(connection: socket.socket, burst: bytes, seconds: float) -> None:
    """Send as fast as it is taken, then hang up in the middle."""
    until = stopwatch() + seconds
    connection.settimeout(1)
    with suppress(OSError):
        while stopwatch() < until:
            connection.sendall(burst)


def evil_patterns(url: str, seconds: float) -> None:
    """Twenty patterns of ``#.a`` thirty times, and keys of 120 words."""
    with connected(url) as connection:
        patterns = (bound("evil", ".".join(["#.a"] * 30) + f".b{number}") for number in range(20))
        ask_for(connection, (exchange("evil", "topic"), declared("sink", arguments=SHORT), *patterns))
        repeated(connection, message("evil", ".".join(["a"] * 120)) * 200, seconds)


def many_patterns(url: str, seconds: float) -> None:
    """20,000 bindings of a topic exchange, every second of which matches."""
    with connected(url) as connection:
        patterns = (
            bound("many", f"#.a.{'*' if number % 2 else 'b'}.#.{number}.#") for number in range(10_000)
        )
        matching = (
            bound("many", f"{'#.' * (number % 50)}a{'.#' * (number // 100)}") for number in range(5000)
        )
        equal = (bound("many", "a.#", f"sink{number}") for number in range(5_000))
        sinks = (declared(f"sink{number}", arguments=SHORTEST) for number in range(5_000))
        ask_for(connection, (exchange("many", "topic"), declared("sink", arguments=SHORT)))
        ask_for(connection, sinks)
        for each in (patterns, matching, equal):
            ask_for(connection, each)
        repeated(connection, message("many", "a.b.c.d.e.f") * 20, seconds)


def many_headers(url: str, seconds: float) -> None:
    """20,000 bindings of a headers exchange, none of which matches."""
    with connected(url) as connection:
        ask_for(connection, (exchange("heads", "headers"), declared("sink", arguments=SHORT)))
        ask_for(
            connection,
            (
                commands.Queue.Bind(
                    queue="sink", exchange="heads", nowait=True, arguments={"x-match": "any", "h": number}
                )
                for number in range(20_000)
            ),
        )
        properties = commands.Basic.Properties(headers={"h": "none"})
        repeated(connection, message("heads", properties=properties) * 20, seconds)


def circle(url: str, seconds: float) -> None:
    """Sixty exchanges, each bound to all others."""
    names = [f"round{number}" for number in range(60)]
    with connected(url) as connection:
        ask_for(
            connection, (declared("sink", arguments=SHORT), *(exchange(name, "fanout") for name in names))
        )
        ask_for(
            connection,
            (
                commands.Exchange.Bind(destination=one, source=other, nowait=True)
                for one in names
                for other in names
            ),
        )
        ask_for(connection, (bound(name) for name in names))
        repeated(connection, message(names[0]) * 100, seconds)


def fan_out(url: str, queues: int, seconds: float) -> None:
    """An exchange that puts each message into thousands of queues."""
    with connected(url) as connection:
        ask_for(connection, [exchange("fan", "fanout")])
        ask_for(connection, (declared(f"fan{number}", arguments=SHORTEST) for number in range(queues)))
        ask_for(connection, (bound("fan", queue=f"fan{number}") for number in range(queues)))
        repeated(connection, message("fan") * 200, seconds)


def dead_letters(url: str, queues: int, seconds: float) -> None:
    """Messages that expire at once, each of which is then put into a thousand queues."""
    with connected(url) as connection:
        dying = {"x-dead-letter-exchange": "graves", "x-message-ttl": 1}
        ask_for(connection, (exchange("graves", "fanout"), declared("dying", arguments=dying)))
        ask_for(connection, (declared(f"grave{number}", arguments=SHORTEST) for number in range(queues)))
        ask_for(connection, (bound("graves", queue=f"grave{number}") for number in range(queues)))
        repeated(connection, message("", "dying") * 200, seconds)


def channels(url: str, last: int, seconds: float) -> None:
    """Channels up to a number, opened and closed again and again; anew where the broker has enough."""
    opening = b"".join(marshal(commands.Channel.Open(), number) for number in range(2, last + 1))
    closing = b"".join(
        marshal(commands.Channel.Close(200, "", 0, 0), number) for number in range(2, last + 1)
    )
    until = stopwatch() + seconds
    while stopwatch() < until:
        with suppress(OSError), connected(url) as connection:
            repeated(connection, opening + closing, until - stopwatch())


def priorities(url: str, seconds: float) -> None:
    """Publishes of 256 priorities, each of which expires before the last."""
    with connected(url) as connection:
        ask_for(connection, [declared("ranked", arguments={"x-max-priority": 255})])
        burst = b"".join(
            message(
                "", "ranked", commands.Basic.Properties(priority=number % 256, expiration=f"{5000 - number}")
            )
            for number in range(1000)
        )
        repeated(connection, burst, seconds)


def listed_queues(url: str, management: str, queues: int, times: int) -> None:
    """All queues listed, sorted and paged through the management API."""
    with connected(url) as connection:
        ask_for(connection, (declared(f"listed{number}") for number in range(queues)))
    with httpx.Client(base_url=management, auth=("guest", "guest"), trust_env=False, timeout=60) as client:
        for _ in range(times):
            for path in (
                "queues",
                "queues?sort=messages&sort_reverse=true",
                "bindings",
                "queues?page=3&name=1",
            ):
                assert client.get(f"/api/{path}").status_code == 200


def durable_queues(url: str, count: int) -> None:
    """Durable queues declared as fast as they are taken."""
    with connected(url) as connection:
        ask_for(connection, (declared(f"durable{number}", durable=True) for number in range(count)))


def own_queues(url: str, count: int) -> None:
    """Exclusive queues with a message each, bound, and then the connection is cut."""
    with connected(url) as connection:
        ask_for(connection, [exchange("owned", "topic")])
        ask_for(connection, (declared(f"own{number}", exclusive=True) for number in range(count)))
        ask_for(connection, (bound("owned", f"a.{number}.#", f"own{number}") for number in range(count)))
        connection.sendall(b"".join(message("owned", f"a.{number}") for number in range(count)))
        sync(connection)


def consumed(url: str, count: int) -> None:
    """Messages consumed and acknowledged one by one, then as many in one acknowledgement."""
    with connected(url) as connection:
        _fill(connection, "eaten", 2 * count)
        early = _take_some(connection, "eaten", count)
        for tag in range(1, count + 1):
            connection.sendall(marshal(commands.Basic.Ack(tag), 1))
        _await(connection, count - early)
        connection.sendall(marshal(commands.Basic.Ack(0, multiple=True), 1))
        sync(connection)


def unacknowledged(url: str, count: int) -> None:
    """Messages that are out with a consumer and all go back: by a nack, by recover, by the end."""
    with connected(url) as connection:
        _fill(connection, "unacked", count)
        _take_some(connection, "unacked", count)
        connection.sendall(marshal(commands.Basic.Cancel("eater"), 1))
        connection.sendall(marshal(commands.Basic.Nack(0, multiple=True, requeue=True), 1))
        sync(connection)
        _take_some(connection, "unacked", count)
    with connected(url) as connection:
        connection.sendall(marshal(commands.Queue.Purge(queue="unacked"), 1))
        sync(connection)


def _fill(connection: socket.socket, queue: str, count: int) -> None:
    ask_for(connection, [declared(queue)])
    for _ in range(count // 1000):
        connection.sendall(message("", queue) * 1000)
    sync(connection)


def _take_some(connection: socket.socket, queue: str, count: int) -> int:
    """Consume until so many deliveries have come; return how many came beyond them."""
    connection.sendall(marshal(commands.Basic.Consume(queue=queue, consumer_tag="eater"), 1))
    return _await(connection, count)


def _await(connection: socket.socket, deliveries: int) -> int:
    """Read until so many deliveries have come; return how many came beyond them."""
    connection.settimeout(_READ_SECONDS)
    mark, left, seam = b"\x00\x3c\x00\x3c", deliveries, b""
    while left > 0:
        piece = connection.recv(1 << 20)
        assert piece
        left -= (seam + piece).count(mark)
        seam = piece[-3:]
    return -left


def flood(url: str, seconds: float) -> None:
    """Messages to a queue, as fast as they are taken."""
    with connected(url) as connection:
        ask_for(connection, [declared("flooded", arguments={"x-max-length": 1000})])
        repeated(connection, message("", "flooded") * 1000, seconds)


def connections(port: int, count: int, seconds: float) -> None:
    """So many connections, of which as many stay as the port allows; each begins to say hello."""
    until = stopwatch() + seconds
    with ExitStack() as stack:
        for number in range(count):
            with suppress(OSError):
                connection = opened(port)
                if number % 10:
                    connection.close()
                else:
                    stack.enter_context(connection)
                connection.sendall(b"AMQP\0\0\x09\x01")
            if stopwatch() > until:
                break


def slowloris(port: int, beginning: bytes, count: int, seconds: float) -> None:
    """Connections that say something a byte at a time, and never all of it."""
    pause = threading.Event()
    with ExitStack() as stack:
        slow = []
        for _ in range(count):
            with suppress(OSError):
                slow.append(stack.enter_context(opened(port)))
        for byte in beginning[:-1]:
            for connection in slow:
                with suppress(OSError):
                    connection.sendall(bytes((byte,)))
            pause.wait(seconds / len(beginning))
