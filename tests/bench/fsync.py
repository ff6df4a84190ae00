"""What ``--fsync`` costs: one sandbox with it and one without, in turns, with one and four connections.

Beside them is what the disk allows: a loop that appends as much as may be under way at once, and flushes.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from emulator.amqp.wire import methods
from emulator.clock import stopwatch
from emulator.machine.durable_data import sync_data
from rdss_sandbox.process import RunningSandbox, sandbox_process
from tests.bench.kinesis import BATCH, RECORD_BYTES, put_record
from tests.bench.load import Connection, put_records, repeated
from tests.bench.rows import US, Row
from tests.emulator.amqp.raw_client import RawClient, build_properties

WITHOUT: Final = "without --fsync"
DISK: Final = "a loop that writes and flushes"
SECONDS: Final = 4.0
ROUNDS: Final = 3
_CONNECTIONS: Final = (1, 4)
_MESSAGES: Final = 400
_AHEAD: Final = 50
_FLUSHES: Final = 200
_QUEUE: Final = "bench-durable"
_BODY: Final = bytes(i % 251 for i in range(RECORD_BYTES))


def measure(seconds: float = SECONDS, rounds: int = ROUNDS) -> Iterator[Row]:
    """The better of some rounds. With four connections ``--fsync`` may cost half: a ratio of 0.5."""
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-"))
        own = {
            name: stack.enter_context(sandbox_process("--data-dir", f"{folder}/{name}", *more))
            for name, more in ((US, ("--fsync",)), (WITHOUT, ()))
        }
        for each in own.values():
            with Connection(_port(each)) as connection:
                connection.call("CreateStream", {"StreamName": "many", "ShardCount": 4})
        found = []
        for _ in range(rounds):
            for name, each in own.items():
                found += _round(name, each, seconds)
            found += _flushed(Path(folder) / "flushed")
    for row in found[: len(found) // rounds]:
        yield row._replace(value=max(other.value for other in found if other[:2] == row[:2]))


def _round(name: str, running: RunningSandbox, seconds: float) -> Iterator[Row]:
    batches = [put_records("many", BATCH, RECORD_BYTES, salt) for salt in range(8)]
    ones = [put_record("many", RECORD_BYTES, f"key-{i}") for i in range(50)]
    for count in _CONNECTIONS:
        with_all = f"{count} connection{'s' if count > 1 else ''}"
        timing = repeated(_port(running), batches, 200, count, seconds=seconds)
        rate = BATCH * len(timing.each) / timing.total
        yield Row(f"PutRecords 500 x 1 KB, {with_all}", name, rate, "records/s", "more")
        timing = repeated(_port(running), ones, 2_000, count, seconds=seconds)
        yield Row(f"PutRecord 1 KB, {with_all}", name, len(timing.each) / timing.total, "records/s", "more")
        rate = _confirmed(running.amqp, count)
        yield Row(f"AMQP durable publish with its confirm, {with_all}", name, rate, "messages/s", "more")
        began = stopwatch()
        with ThreadPoolExecutor(count) as pool:
            sent = sum(pool.map(_publish_ahead, [running.amqp] * count))
        measure = f"AMQP durable publish, {_AHEAD} unconfirmed, {with_all}"
        yield Row(measure, name, sent / (stopwatch() - began), "messages/s", "more")


def _flushed(path: Path) -> Iterator[Row]:
    """What one file takes of the same groups, each written at once and flushed."""
    with path.open("wb", buffering=0) as file:
        for count in _CONNECTIONS:
            with_all = f"{count} connection{'s' if count > 1 else ''}"
            for measure, group, unit in (
                (f"PutRecords 500 x 1 KB, {with_all}", BATCH, "records/s"),
                (f"PutRecord 1 KB, {with_all}", 1, "records/s"),
                (f"AMQP durable publish with its confirm, {with_all}", 1, "messages/s"),
                (f"AMQP durable publish, {_AHEAD} unconfirmed, {with_all}", _AHEAD, "messages/s"),
            ):
                flushes = max(_FLUSHES // group, 10)
                began = stopwatch()
                for _ in range(flushes):
                    os.write(file.fileno(), _BODY * group * count)
                    sync_data(file.fileno())
                rate = flushes * group * count / (stopwatch() - began)
                yield Row(measure, DISK, rate, unit, "more")


def _port(running: RunningSandbox) -> int:
    return urlsplit(running.aws).port or 0


def _confirmed(url: str, connections: int) -> float:
    """Messages a second of publishers that each wait for every confirm."""
    began = stopwatch()
    with ThreadPoolExecutor(connections) as pool:
        list(pool.map(_publish, [url] * connections))
    return connections * _MESSAGES / (stopwatch() - began)


def _publish(url: str) -> None:
    import pika

    persistent = pika.BasicProperties(delivery_mode=pika.DeliveryMode.Persistent)
    with pika.BlockingConnection(pika.URLParameters(url)) as connection:
        channel = connection.channel()
        channel.queue_declare(_QUEUE, durable=True)
        channel.confirm_delivery()
        for _ in range(_MESSAGES):
            channel.basic_publish("", _QUEUE, _BODY, persistent)


def _publish_ahead(url: str) -> int:
    """Publish with some confirms outstanding at any time; return how many were published."""
    messages = 10 * _MESSAGES
    method = methods.BasicPublish(0, "", _QUEUE, False, False)
    properties = build_properties(mode=2)
    with closing(RawClient(url)) as client:
        client.open()
        client.ask(methods.QueueDeclare(0, _QUEUE, False, True, False, False, False, {}))
        client.ask(methods.ConfirmSelect(False))
        sent = confirmed = 0
        while confirmed < messages:
            while sent < min(messages, confirmed + _AHEAD):
                client.publish(method, _BODY, properties)
                sent += 1
            confirmed = client.next().delivery_tag
    return sent
