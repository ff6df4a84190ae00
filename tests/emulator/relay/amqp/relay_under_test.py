"""A relay on real time with the clients that a test opens through it, and what lies in a queue."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pika
from pika.adapters.blocking_connection import BlockingChannel

from emulator.events import Events
from emulator.faults.fault_engine import FaultEngine
from emulator.relay.amqp.amqp_server import AmqpServer
from emulator.rng import new_uuid
from emulator.streams.amqp_log import AmqpLog
from rdss_sandbox.shapes.events import Event
from rdss_sandbox.shapes.faults import NewFault


@dataclass
class Relay:
    """A relay on real time, and the clients that a test opened through it."""

    server: AmqpServer
    fault_engine: FaultEngine
    events: Events
    log: AmqpLog
    direct_url: str
    queue: str = field(default_factory=lambda: f"input-{new_uuid()[:8]}")
    opened: list[pika.BlockingConnection] = field(default_factory=list)

    @property
    def url(self) -> str:
        return self.server.url

    def fault(self, type_: str, **fields: Any) -> str:
        return self.fault_engine.add(NewFault(type_, **fields)).name

    def injections(self) -> list[Event]:
        return [event for event in self.events.since(limit=100_000) if event.kind == "fault.injected"]

    def connection(self, url: str | None = None, **options: Any) -> pika.BlockingConnection:
        parameters = pika.URLParameters(url or self.url)
        parameters.socket_timeout = 10
        for name, value in options.items():
            setattr(parameters, name, value)
        self.opened.append(pika.BlockingConnection(parameters))
        return self.opened[-1]

    def channel(self, *, confirm: bool = False, declare: bool = True) -> BlockingChannel:
        """A channel through the relay; its queue is made."""
        channel = self.connection().channel()
        if declare:
            channel.queue_declare(self.queue, durable=True)
        if confirm:
            channel.confirm_delivery()
        return channel

    def direct(self) -> BlockingChannel:
        """A channel of the broker itself, past the relay."""
        return self.connection(self.direct_url).channel()

    def at_broker(self) -> list[bytes]:
        """What lies in the queue, taken out past the relay."""
        return drained(self.direct(), self.queue)


def drained(channel: BlockingChannel, queue: str) -> list[bytes]:
    """What ``basic.get`` finds until there is nothing."""
    found = []
    while (got := channel.basic_get(queue, auto_ack=True))[0] is not None:
        found.append(got[2])
    return found


def consumed(
    channel: BlockingChannel, queue: str, count: int, *, ack: bool = True, wait: float = 30.0
) -> list[Any]:
    """(method, properties, body) of the next ``count`` deliveries, or fewer when none comes in ``wait`` s."""
    found = []
    for method, properties, body in channel.consume(queue, inactivity_timeout=wait):
        if method is None:
            break
        found.append((method, properties, body))
        if ack:
            channel.basic_ack(method.delivery_tag)
        if len(found) == count:
            break
    return found


def heard(connection: pika.BlockingConnection, holds: Callable[[], Any]) -> None:
    """Let the client take what the broker sends until ``holds()``; fails when it never does."""
    for _ in range(300):
        if holds():
            return
        connection.process_data_events(time_limit=0.1)
    raise AssertionError(f"never came about: {holds}")
