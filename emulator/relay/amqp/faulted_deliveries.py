"""What the broker delivers on one channel, as the faults in force let it through to the client."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Generic, TypeAlias, TypeVar

from emulator.amqp.wire.commands import Command
from emulator.amqp.wire.delivery_run import DeliveryRun
from emulator.amqp.wire.methods import BasicDeliver, BasicGetOk
from emulator.clock import Clock
from emulator.faults.delayed_deliveries import Due
from emulator.faults.fault import Failure
from emulator.faults.faulted_message import Message
from emulator.faults.held_deliveries import Form, HeldDeliveries, PushedDeliveries
from emulator.relay.amqp.acknowledgements import Acknowledgements, BrokerDelivery, PrefetchWindow
from emulator.relay.amqp.amqp_tap import Tap
from emulator.relay.amqp.channel_link import ChannelLink
from emulator.relay.amqp.message_contents import read_partition_key, replace_content
from emulator.relay.amqp.refusals import refusal

_Waiting = TypeVar("_Waiting")


@dataclass(slots=True, eq=False)
class Arrived:
    """A message from the broker for a reader of ``queue``; ``handed`` is None if it needs no settling."""

    command: Command
    handed: BrokerDelivery | None
    queue: str


@dataclass(slots=True, eq=False)
class WaitingReader(Generic[_Waiting]):
    """A consumer, or the gets of a queue, and the messages that wait for it."""

    queue: str
    waiting: _Waiting
    no_ack: bool = False
    window: PrefetchWindow = field(default_factory=PrefetchWindow)


Consumer: TypeAlias = WaitingReader[PushedDeliveries[Arrived]]
Gets: TypeAlias = WaitingReader[HeldDeliveries[Arrived]]


class FaultedDeliveries:
    """The messages that wait for the readers of one channel, and their way to the client."""

    def __init__(self, link: ChannelLink, acks: Acknowledgements, tap: Tap) -> None:
        self._link = link
        self._acks = acks
        self._tap = tap
        self._faults = link.context.faults
        self._form = Form(
            lambda arrived: arrived.queue,
            partial(_message, link.context.clock),
            one_by_one=True,
            planned=_expect,
        )

    def new_consumer(self, queue: str, window: PrefetchWindow, *, no_ack: bool) -> Consumer:
        waiting = PushedDeliveries(
            self._faults,
            self._form,
            self._link.context.loop,
            hand_over=self.hand_over,
            fail=self.fail,
            room=lambda: window.room and not self._link.closed,
        )
        return WaitingReader(queue, waiting, no_ack, window)

    def new_gets(self, queue: str) -> Gets:
        return WaitingReader(queue, HeldDeliveries(self._faults, self._form))

    def arrive(
        self, command: Command, delivered: BasicDeliver | BasicGetOk, reader: Consumer | Gets
    ) -> Arrived | None:
        """Deliver a message at once, and return None, if no fault may strike it and none waits before it."""
        tag = delivered.delivery_tag
        self._tap.report_delivery(reader.queue, command)
        handed = None if reader.no_ack else self._acks.add_broker_delivery(tag, reader.window)
        if len(reader.waiting) or not reader.window.room or reader.queue in self._faults.deliveries:
            self._link.count_held(command.size)
            return Arrived(command, handed, reader.queue)
        client_tag = self._acks.assign_tag(handed)
        if client_tag != tag:
            command = command.with_method(delivered._replace(delivery_tag=client_tag))
        self._link.to_client(command)
        return None

    def pass_on(self, run: DeliveryRun, consumer: Consumer) -> bool:
        """Deliver a run as it is; return False, and deliver nothing, where it is to be taken apart."""
        first, window = run.decode_as(BasicDeliver).delivery_tag, consumer.window
        is_plain = (
            not len(consumer.waiting)
            and window.has_room_for(run.times)
            and consumer.queue not in self._faults.deliveries
            and not self._tap.must_see_each(run)
            and self._acks.pass_on(first, run.times, None if consumer.no_ack else window)
        )
        if is_plain:
            self._link.to_client(run)
        return is_plain

    def hand_over(self, due: Due[Arrived]) -> None:
        """Send a message that is due to the client."""
        command = due.record.command
        method = command.decode()
        assert isinstance(method, BasicDeliver | BasicGetOk)
        client_tag = self._acks.assign_tag(due.record.handed)
        redelivered = method.redelivered or due.again
        made = command.with_method(method._replace(delivery_tag=client_tag, redelivered=redelivered))
        made = replace_content(made, due.data, self._link.context.frame_max)
        if not due.again:
            self._link.count_held(-command.size)
        self._link.to_client(made)

    def drop(self, reader: Consumer | Gets) -> list[BrokerDelivery]:
        """Give up what waits for a reader, and return what must be settled of it."""
        dropped = reader.waiting.drop()
        self._link.count_held(-sum(each.record.command.size for each in dropped if not each.again))
        return [each.record.handed for each in dropped if each.record.handed is not None]

    def fail(self, failure: Failure) -> None:
        """Close the channel or the connection, since a fault fails a read."""
        self._link.refuse(refusal(failure, confirming=False), None)


def _message(clock: Clock, arrived: Arrived) -> Message:
    command = arrived.command
    return Message(command.body, read_partition_key(command), clock.time(), command.write_text)


def _expect(arrived: Arrived, times: int) -> None:
    if arrived.handed is not None:
        arrived.handed.left = times
