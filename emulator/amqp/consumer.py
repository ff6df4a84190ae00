"""A consumer of a queue, as the queue sees it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from emulator.amqp.message import Entry, Message
from emulator.amqp.wire.field_tables import Table

if TYPE_CHECKING:
    from emulator.amqp.queue import Queue


class Receiver(Protocol):
    """The channel of a consumer."""

    @property
    def has_room(self) -> bool:
        """Whether the channel takes a delivery that must be acknowledged."""

    @property
    def is_writable(self) -> bool:
        """Whether the client reads what it is sent."""

    def deliver(self, consumer: Consumer, entry: Entry, message: Message) -> None: ...
    def notify_cancel(self, consumer: Consumer) -> None: ...


@dataclass(slots=True, eq=False)
class Consumer:
    """A consumer. ``prefetch`` 0 means no limit; ``unacked`` deliveries wait for their acknowledgement."""

    tag: str
    channel: Receiver
    queue: Queue
    no_ack: bool = False
    exclusive: bool = False
    prefetch: int = 0
    priority: int = 0
    unacked: int = 0
    arguments: Table = field(default_factory=dict)

    @property
    def is_ready(self) -> bool:
        """Whether it takes a message now."""
        if not self.channel.is_writable:
            return False
        if self.no_ack:
            return True
        return (not self.prefetch or self.unacked < self.prefetch) and self.channel.has_room
