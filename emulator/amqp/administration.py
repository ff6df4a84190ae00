"""What an administrator does to a broker without being a client: RabbitMQ's management plugin does it so."""

from __future__ import annotations

from typing import Final, NamedTuple

from emulator.amqp.broker import USER, Broker
from emulator.amqp.channel import Channel, Handlers
from emulator.amqp.connection import FRAME_MAX
from emulator.amqp.message import Entry, Message
from emulator.amqp.open_connections import list_connections
from emulator.amqp.operations.operation_table import OPERATIONS
from emulator.amqp.operations.publishing import publish
from emulator.amqp.operations.queues import find
from emulator.amqp.turn import Steps, StepsTo
from emulator.amqp.virtual_host import VirtualHost
from emulator.amqp.wire import methods
from emulator.amqp.wire.commands import Command, build_command
from emulator.amqp.wire.frames import build_content
from emulator.amqp.wire.methods import Method

_HANDLERS: Final = Handlers(OPERATIONS, publish)


class Taken(NamedTuple):
    """A message that was taken out of a queue, in which ``left`` others wait."""

    message: Message
    redelivered: bool
    left: int


class _Administrator:
    """The owner of a channel that no client has: it keeps whether a message came back."""

    frame_max = FRAME_MAX
    is_writable = True
    user = USER
    is_returned = False

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    @property
    def vhost(self) -> VirtualHost:
        return self._broker.vhost

    def is_capable(self, _name: str) -> bool:
        return False

    def send(self, _channel: int, method: Method) -> None:
        """Do nothing: who asks sees what has become of it."""

    def send_command(self, _command: Command) -> None:
        """Note that a message comes back."""
        self.is_returned = True

    def note_confirms(self, channel: Channel) -> None:
        """Do nothing: the channel has no confirms."""

    def note_unroutable(self, routing_key: str) -> None:
        """Do nothing: the answer says so."""

    def delete_queue(self, name: str) -> None:
        self._broker.delete_queue(name)


def perform(broker: Broker, method: Method) -> Steps:
    """Do what a client's method asks for. Raises RefusedError and OSError."""
    yield from Channel(_Administrator(broker), 1, _HANDLERS).take(build_command(1, method)) or ()
    broker.commit()


def publish_message(
    broker: Broker, exchange: str, routing_key: str, properties: bytes, body: bytes
) -> StepsTo[bool]:
    """Publish a message; return whether a queue got it. Raises RefusedError and OSError."""
    administrator = _Administrator(broker)
    method = methods.BasicPublish(0, exchange, routing_key, mandatory=True, immediate=False)
    command = build_command(1, method)
    command.frames += build_content(1, properties, body, FRAME_MAX)
    yield from Channel(administrator, 1, _HANDLERS).take(command) or ()
    broker.commit()
    return not administrator.is_returned


def take_messages(
    broker: Broker, name: str, count: int, *, requeue: bool, reject: bool
) -> StepsTo[list[Taken]]:
    """Take up to ``count`` messages out of a queue, and put them back or settle them. Raises RefusedError."""
    queue = find(Channel(_Administrator(broker), 1, _HANDLERS), name)
    entries: list[Entry] = []
    taken: list[Taken] = []
    try:
        while len(entries) < count and (entry := queue.get()) is not None:
            entries.append(entry)
            queue.unacked += 1
            taken.append(Taken(queue.load(entry), entry.redelivered, queue.ready))
            yield
    # A message that cannot be read must not leave those before it unacknowledged for ever.
    finally:
        if requeue:
            queue.put_back(entries)
        elif reject:
            for entry in entries:
                queue.discard(entry)
        else:
            queue.settle(entries)
    broker.commit()
    return taken


def close_connection(broker: Broker, name: str, why: str) -> bool:
    """Close the connection of a name as an administrator does; return False where there is none."""
    for each in list_connections(broker):
        if each.name == name:
            each.connection.force_close(why)
            broker.commit()
            return True
    return False
