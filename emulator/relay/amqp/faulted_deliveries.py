"""Messages from the broker that faults hold back from a consumer, or from the gets of a queue."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic, TypeAlias, TypeVar

from emulator.faults.held_deliveries import HeldDeliveries, PushedDeliveries
from emulator.relay.amqp.acknowledgements import BrokerDelivery, PrefetchWindow
from emulator.relay.amqp.frames import Command

_Waiting = TypeVar("_Waiting")


@dataclass(slots=True, eq=False)
class Arrived:
    """A message from the broker for a reader of ``queue``; ``handed`` is None if it needs no settling."""

    command: Command
    handed: BrokerDelivery | None
    queue: str


@dataclass(slots=True, eq=False)
class Reader(Generic[_Waiting]):
    """A consumer, or the gets of a queue, and the messages that wait for it."""

    queue: str
    waiting: _Waiting
    no_ack: bool = False
    window: PrefetchWindow = field(default_factory=PrefetchWindow)


Consumer: TypeAlias = Reader[PushedDeliveries[Arrived]]
Gets: TypeAlias = Reader[HeldDeliveries[Arrived]]
