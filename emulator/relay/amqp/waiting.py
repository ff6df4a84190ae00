"""Messages from the broker that faults hold back from a consumer, or from the gets of a queue."""

from __future__ import annotations

from dataclasses import dataclass, field

from emulator.faults.held_deliveries import HeldDeliveries, PushedDeliveries
from emulator.relay.amqp.acknowledgements import BrokerDelivery, PrefetchWindow
from emulator.relay.amqp.frames import Command


@dataclass(slots=True, eq=False)
class Arrived:
    """A message from the broker for a reader of ``queue``; ``handed`` is None if it needs no settling."""

    command: Command
    handed: BrokerDelivery | None
    queue: str


@dataclass(slots=True, eq=False)
class Consumer:
    """A consumer, and the messages that wait for it."""

    queue: str
    no_ack: bool
    window: PrefetchWindow
    waiting: PushedDeliveries[Arrived]


@dataclass(slots=True, eq=False)
class Gets:
    """The gets of one queue, and the messages that wait for them."""

    queue: str
    waiting: HeldDeliveries[Arrived]
    no_ack: bool = False
    window: PrefetchWindow = field(default_factory=PrefetchWindow)
