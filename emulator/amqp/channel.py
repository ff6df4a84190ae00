"""One channel: its commands in order, its consumers, and what it still has to acknowledge."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol

from emulator.amqp.confirms import Confirms
from emulator.amqp.message import Entry, Message
from emulator.amqp.queue import Consumer, Delivery, Queue
from emulator.amqp.refusals import RefusedError
from emulator.amqp.transaction import Transaction
from emulator.amqp.turn import ITEMS_OF_A_STEP, Steps
from emulator.amqp.virtual_host import VirtualHost
from emulator.amqp.wire import frames, methods
from emulator.amqp.wire.commands import Command, PublishRun, build_command
from emulator.amqp.wire.delivery_run import DeliveredMessage, build_delivery_run
from emulator.amqp.wire.methods import IDS, Method

_CLOSE_OK: Final = b"\x00\x14\x00\x29"
_CLOSE: Final = b"\x00\x14\x00\x28"
_OPEN: Final = b"\x00\x14\x00\x0a"


class ChannelOwner(Protocol):
    """The connection of a channel."""

    frame_max: int

    @property
    def vhost(self) -> VirtualHost: ...
    @property
    def user(self) -> str: ...
    @property
    def is_writable(self) -> bool: ...
    def is_capable(self, name: str) -> bool: ...
    def send(self, channel: int, method: Method) -> None: ...
    def send_command(self, command: Command) -> None: ...
    def note_confirms(self, channel: Channel) -> None: ...
    def note_unroutable(self, routing_key: str) -> None: ...
    def delete_queue(self, name: str) -> None: ...


class Handlers(NamedTuple):
    """What a channel does with its methods: the operations by their classes, and what publishes do.

    Those get the encoded properties and bodies of the messages that came together.
    """

    operations: Mapping[type, Callable[[Channel, Any], Steps | None]]
    publish: Callable[[Channel, methods.BasicPublish, Sequence[tuple[bytes, bytes]]], Steps]


class Channel:
    """A channel of a connection. It ``is_closing`` from an error until the client has answered that.

    ``replies`` has the answers to what it asks by direct reply-to, while it consumes them.
    """

    def __init__(self, connection: ChannelOwner, number: int, handlers: Handlers) -> None:
        self.connection = connection
        self._handlers = handlers
        self.number = number
        self.method_id = 0
        self.is_closing = False
        self.is_closed = False
        self.last_queue: str | None = None
        self.prefetch = 0
        self.prefetch_of_channel = 0
        self.consumers: dict[str, Consumer] = {}
        self.replies: Queue | None = None
        self.unacked: dict[int, Delivery] = {}
        self.confirms: Confirms | None = None
        self.transaction: Transaction | None = None
        self._unacked_of_consumers = 0
        self._last_tag = 0

    @property
    def vhost(self) -> VirtualHost:
        return self.connection.vhost

    # From the client

    def take(self, command: Command) -> Steps | None:
        """Handle a command; return the rest of it. Raises RefusedError, and so do the steps."""
        if command.frames[0][0] != frames.METHOD:
            raise RefusedError(505, "expected method frame, got non method frame instead", method=0)
        method = command.decode()
        self.method_id = IDS[type(method)]
        if isinstance(method, methods.BasicPublish):
            if method.immediate:
                # RabbitMQ gave this up with its version 3.0.
                raise RefusedError(540, "immediate=true")
            if isinstance(command, PublishRun):
                return self._handlers.publish(self, method, command.messages)
            properties = frames.read_properties(command.frames[1:])
            return self._handlers.publish(self, method, ((properties, command.body),))
        if isinstance(method, methods.ChannelClose):
            self._close()
            return None
        if isinstance(method, methods.ChannelOpen):
            raise RefusedError(504, "second 'channel.open' seen")
        operation = self._handlers.operations.get(type(method))
        if operation is None:
            raise RefusedError(503, "unimplemented method")
        return operation(self, method)

    def drop_until_close_ok(self, command: Command) -> None:
        """Drop what a client sends that does not know yet that the channel is closed."""
        for frame in command.frames:
            method = frame[: frames.PAYLOAD_AT + 4][frames.PAYLOAD_AT :] if frame[0] == frames.METHOD else b""
            if method == _CLOSE_OK:
                self.is_closed = True
            # Both closed at once: this client waits for a close-ok of its own.
            elif method == _CLOSE:
                self.send(methods.ChannelCloseOk())
            elif method == _OPEN:
                self.method_id = IDS[methods.ChannelOpen]
                raise RefusedError(504, "second 'channel.open' seen")

    def _close(self) -> None:
        self.send(methods.ChannelCloseOk())
        self.is_closed = True

    # To the client

    def send(self, method: Method) -> None:
        """Send a method, behind the confirms of what came before."""
        self.send_confirms()
        self.connection.send(self.number, method)

    def send_content(self, method: Method, message: Message) -> None:
        """Send a method with a message, whose body is cut as the client wants it."""
        command = build_command(self.number, method)
        command.frames += frames.build_content(
            self.number, message.properties, message.body, self.connection.frame_max
        )
        self.connection.send_command(command)

    def send_confirms(self) -> None:
        """Send the confirms of the publishes whose messages are stored."""
        if self.confirms is not None and not self.is_closing:
            for tag, multiple, acked in self.confirms.take():
                confirm = methods.BasicAck(tag, multiple) if acked else methods.BasicNack(tag, True, True)
                self.connection.send(self.number, confirm)

    # Consumers

    @property
    def room(self) -> int:
        if not self.prefetch_of_channel:
            return ITEMS_OF_A_STEP
        return self.prefetch_of_channel - self._unacked_of_consumers

    @property
    def is_writable(self) -> bool:
        return self.connection.is_writable and not self.is_closing

    def deliver(self, consumer: Consumer, entries: Sequence[Entry], messages: Sequence[Message]) -> None:
        """Send messages to a consumer."""
        first = self.hand_out(entries, consumer.queue, consumer, no_ack=consumer.no_ack)
        delivered = [
            DeliveredMessage(
                entry.redelivered, message.exchange, message.routing_keys[0], message.properties, message.body
            )
            for entry, message in zip(entries, messages, strict=True)
        ]
        if all(message.body for message in messages):
            self.connection.send_command(
                build_delivery_run(self.number, consumer.tag, first, delivered, self.connection.frame_max)
            )
        else:
            for tag, (each, message) in enumerate(zip(delivered, messages, strict=True), first):
                self.send_content(methods.BasicDeliver(consumer.tag, tag, *each[:3]), message)
        if consumer.no_ack:
            self.vhost.settle(consumer.queue, entries)
        else:
            self.vhost.release(entries)

    def hand_out(
        self, entries: Sequence[Entry], queue: Queue, consumer: Consumer | None, *, no_ack: bool
    ) -> int:
        """Give messages that leave their queue delivery tags, and await their acknowledgement.

        Returns the tag of the first, which those of the others follow.
        """
        first = self._last_tag + 1
        self._last_tag += len(entries)
        if not no_ack:
            for tag, entry in enumerate(entries, first):
                self.unacked[tag] = Delivery(entry, queue, consumer)
            queue.unacked += len(entries)
            if consumer is not None:
                consumer.unacked += len(entries)
                self._unacked_of_consumers += len(entries)
            self.vhost.note_delivered(queue, entries)
        return first

    def take_back(self, delivery: Delivery) -> None:
        """Count a delivery that is acknowledged, or goes back, as no longer out."""
        if delivery.consumer is not None:
            delivery.consumer.unacked -= 1
            self._unacked_of_consumers -= 1

    def notify_cancel(self, consumer: Consumer) -> None:
        """Forget a consumer whose queue was deleted, and tell a client that understands it."""
        known = self.consumers.pop(consumer.tag, None) is not None
        if known and not self.is_closing and self.connection.is_capable("consumer_cancel_notify"):
            self.send(methods.BasicCancel(consumer.tag, nowait=True))

    def remove_consumer(self, consumer: Consumer) -> str | None:
        """Remove a consumer; return the name of its queue if that goes with it."""
        del self.consumers[consumer.tag]
        is_last = consumer.queue.remove_consumer(consumer)
        if consumer.queue is self.replies:
            self.vhost.remove_reply_queue(self.replies)
            self.replies = None
        return consumer.queue.name if is_last else None

    def go_on(self) -> None:
        """Let the queues of the consumers hand out more."""
        for consumer in self.consumers.values():
            self.vhost.go_on(consumer.queue)

    def dispatch(self, settled: Iterable[Queue]) -> None:
        """Have queues hand out what there is room for now that messages of ``settled`` queues are.

        Those are all queues of the channel's consumers where these share its prefetch.
        """
        shared = (consumer.queue for consumer in self.consumers.values())
        for queue in dict.fromkeys(shared if self.prefetch_of_channel else settled):
            queue.dispatch()

    # The end

    def release(self) -> list[str]:
        """Remove the consumers and put back all messages. Returns the names of queues that end with that."""
        ending = [name for each in tuple(self.consumers.values()) if (name := self.remove_consumer(each))]
        if self.transaction is not None:
            # An acknowledgement whose transaction was not committed is none.
            self.unacked = self.transaction.roll_back(self.unacked)
        self.put_back(self.unacked)
        return ending

    def put_back(self, deliveries: dict[int, Delivery]) -> None:
        """Put deliveries back into their queues, and empty the mapping."""
        # All of a queue together: it merges what comes back into what waits, which may be long.
        by_queue: dict[Queue, list[Entry]] = {}
        for delivery in deliveries.values():
            self.take_back(delivery)
            by_queue.setdefault(delivery.queue, []).append(delivery.entry)
        deliveries.clear()
        for queue, entries in by_queue.items():
            queue.put_back(entries)
