"""AMQP: our own broker, RabbitMQ, and RabbitMQ behind our relay: publishing, consuming, confirms."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from emulator.clock import stopwatch
from emulator.rabbitmq.broker_process import find_server, start_broker
from rdss_sandbox.process import sandbox_process
from tests.bench.rows import US, Row

if TYPE_CHECKING:
    from pika import BasicProperties
    from pika.adapters.blocking_connection import BlockingChannel

RELAYED = "through us"
"""RabbitMQ with our relay in front."""
MESSAGES = 10_000
CONFIRMED = 1_000
ROUNDS = 3
_PREFETCH = 500
_DURABLE = "bench-durable"
_BODY = bytes(i % 251 for i in range(1_000))


def measure(messages: int = MESSAGES, rounds: int = ROUNDS) -> Iterator[Row]:
    """The better of some rounds, the three taking turns. Nothing where no RabbitMQ is installed."""
    server = find_server(os.environ)
    if server is None:
        sys.stderr.write("RabbitMQ is not installed here\n")
        return
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        broker = start_broker(server, Path(folder), os.environ)
        try:
            own = sandbox_process("--data-dir", f"{folder}/own")
            with _relay(broker.url) as relayed, own as running:
                urls = {US: running.amqp, "RabbitMQ": broker.url, RELAYED: relayed}
                found = [
                    row for _ in range(rounds) for name in urls for row in _round(name, urls[name], messages)
                ]
        finally:
            broker.stop()
    for row in found[: len(found) // rounds]:
        same = [other.value for other in found if other[:2] == row[:2]]
        yield row._replace(value=max(same) if row.better == "more" else min(same))


@contextmanager
def _relay(upstream: str) -> Iterator[str]:
    command = [sys.executable, "-m", "tests.bench.amqp_relay", upstream]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            login = urlsplit(upstream).netloc.rpartition("@")[0]  # the relay passes it on
            yield f"amqp://{login}@127.0.0.1:{int(process.stdout.readline())}/%2F"
        finally:
            process.terminate()


def _round(subject: str, url: str, messages: int) -> Iterator[Row]:
    import pika

    persistent = pika.BasicProperties(delivery_mode=pika.DeliveryMode.Persistent)
    with pika.BlockingConnection(pika.URLParameters(url)) as connection:
        channel = connection.channel()
        queue = channel.queue_declare("", exclusive=True).method.queue
        yield Row("AMQP publish 1 KB", subject, _published(channel, queue, messages), "messages/s", "more")
        yield Row("AMQP consume 1 KB", subject, _consumed(channel, queue, messages), "messages/s", "more")
        each = sorted(_confirmed(connection.channel(), queue, CONFIRMED))
        yield Row("AMQP publish with its confirm, p50", subject, median(each) * 1e3, "ms")
        yield Row("AMQP publish with its confirm, p99", subject, each[len(each) * 99 // 100] * 1e3, "ms")
        channel.queue_declare(_DURABLE, durable=True)
        each = sorted(_confirmed(connection.channel(), _DURABLE, CONFIRMED, persistent))
        channel.queue_delete(_DURABLE)
        yield Row("AMQP durable publish with its confirm, p50", subject, median(each) * 1e3, "ms")
        yield Row(
            "AMQP durable publish with its confirm, p99", subject, each[len(each) * 99 // 100] * 1e3, "ms"
        )


def _published(channel: BlockingChannel, queue: str, messages: int) -> float:
    """Messages a second, until the broker has them all."""
    began = stopwatch()
    for _ in range(messages):
        channel.basic_publish("", queue, _BODY)
    channel.queue_declare(queue, passive=True)
    return messages / (stopwatch() - began)


def _consumed(channel: BlockingChannel, queue: str, messages: int) -> float:
    left = messages
    channel.basic_qos(prefetch_count=_PREFETCH)

    def take(_channel: Any, method: Any, _properties: Any, _body: bytes) -> None:
        nonlocal left
        left -= 1
        channel.basic_ack(method.delivery_tag)

    began = stopwatch()
    tag = channel.basic_consume(queue, take)
    while left > 0:
        channel.connection.process_data_events(time_limit=1)
    rate = messages / (stopwatch() - began)
    channel.basic_cancel(tag)
    return rate


def _confirmed(
    channel: BlockingChannel, queue: str, messages: int, properties: BasicProperties | None = None
) -> Iterator[float]:
    """Seconds of each publish that waits for its confirm."""
    channel.confirm_delivery()
    for _ in range(messages):
        began = stopwatch()
        channel.basic_publish("", queue, _BODY, properties)
        yield stopwatch() - began
