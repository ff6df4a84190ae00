"""AMQP: our own broker, RabbitMQ, RabbitMQ behind our relay, and a server that only answers.

Messages of three sizes, transient and durable, through one connection and eight: published with confirms,
consumed with an acknowledgement each, and one by one. All take turns on the same cores, with medians.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import product
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from emulator.amqp.wire import methods
from emulator.rabbitmq.broker_process import find_server, start_broker
from rdss_sandbox.process import sandbox_process
from tests.bench import amqp_driver
from tests.bench.amqp_driver import RawConnection
from tests.bench.rows import US, Row

RELAYED: Final = "through us"
"""RabbitMQ with our relay in front."""
ROUNDS: Final = 3
CONFIRMED: Final = 1_000
CONNECTIONS: Final = (1, 8)
LIMIT: Final = "nothing"
"""What only answers: the driver's own cost."""


class Load(NamedTuple):
    """Messages of one size, and how many of them each subject gets in a round."""

    size: str
    body: bytes
    messages: int


LOADS: Final = (
    Load("12 B", bytes(range(12)), 15_000),
    Load("1 KB", bytes(i % 251 for i in range(1_000)), 10_000),
    Load("200 KB", bytes(i % 251 for i in range(200_000)), 200),
)
MODES: Final = {"transient": amqp_driver.TRANSIENT, "durable": amqp_driver.DURABLE}


def measure(loads: tuple[Load, ...] = LOADS, rounds: int = ROUNDS) -> Iterator[Row]:
    """The medians of some rounds, all taking turns. Without RabbitMQ where none is installed."""
    with subjects() as urls:
        found = [
            row
            for load, mode, connections in product(loads, MODES, CONNECTIONS)
            for _ in range(rounds)
            for name, url in urls.items()
            for row in _measure_load(name, url, load, mode, connections)
        ]
    yield from medians(found)


@contextmanager
def subjects() -> Iterator[dict[str, str]]:
    """Start all, and give their URLs by name."""
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-"))
        urls = {US: stack.enter_context(sandbox_process("--data-dir", f"{folder}/own")).amqp}
        server = find_server(os.environ)
        if server is not None:
            broker = start_broker(server, Path(folder), os.environ)
            stack.callback(broker.stop)
            urls["RabbitMQ"] = broker.url
            login = urlsplit(broker.url).netloc.rpartition("@")[0]  # the relay passes it on
            port = stack.enter_context(_process("tests.bench.amqp_relay", broker.url))
            urls[RELAYED] = f"amqp://{login}@127.0.0.1:{port}/%2F"
        port = stack.enter_context(_process("tests.bench.amqp_nothing"))
        urls[LIMIT] = f"amqp://127.0.0.1:{port}/%2F"
        yield urls


def medians(found: list[Row]) -> Iterator[Row]:
    """One row for the rows of each measure and subject."""
    for measure_and_subject in dict.fromkeys(row[:2] for row in found):
        same = [row for row in found if row[:2] == measure_and_subject]
        yield same[0]._replace(value=median(row.value for row in same))


@contextmanager
def _process(module: str, *arguments: str) -> Iterator[int]:
    command = [sys.executable, "-m", module, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield int(process.stdout.readline())
        finally:
            process.terminate()


def _measure_load(subject: str, url: str, load: Load, mode: str, connections: int) -> Iterator[Row]:
    of = f"{mode} {load.size}, {connections} connection{'s' if connections > 1 else ''}"
    queues = [f"bench-{number}" for number in range(connections)]
    properties, each = MODES[mode], load.messages // connections
    rendered = [amqp_driver.render_publish("", queue, properties, load.body) for queue in queues]
    with ExitStack() as stack:
        publishers = [stack.enter_context(RawConnection(url)) for _ in queues]
        for queue in queues:
            declare = methods.QueueDeclare(0, queue, False, mode == "durable", False, False, False, {})
            publishers[0].ask(declare, methods.QueueDeclareOk)
        seconds = amqp_driver.publish(publishers, rendered, each)
        yield Row(f"AMQP publish, {of}", subject, each * connections / seconds, "messages/s", "more")
    with ExitStack() as stack:
        consumers = [stack.enter_context(RawConnection(url)) for _ in queues]
        size = len(amqp_driver.render_delivery(queues[0], properties, load.body))
        seconds = amqp_driver.consume(consumers, queues, size, each)
        yield Row(f"AMQP consume, {of}", subject, each * connections / seconds, "messages/s", "more")
    with RawConnection(url) as connection:
        if connections == 1:
            one_by_one = amqp_driver.publish_each(connection, rendered[0], min(CONFIRMED, load.messages))
            confirmed = f"AMQP confirm, {mode} {load.size}"
            yield Row(f"{confirmed}, p50", subject, median(one_by_one) * 1e3, "ms")
            yield Row(f"{confirmed}, p99", subject, one_by_one[len(one_by_one) * 99 // 100] * 1e3, "ms")
    with RawConnection(url) as connection:
        for queue in queues:
            connection.ask(methods.QueueDelete(0, queue, False, False, False), methods.QueueDeleteOk)
