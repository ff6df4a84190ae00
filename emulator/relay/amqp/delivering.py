"""From the broker to the client: deliveries and gets with faults applied, and their acknowledgements.

    deliver -> PushedDeliveries -> FaultedDeliveries.hand_over --> client
    get-ok  -> HeldDeliveries   -> _answer ----------+               |
                                                                     |
    broker  <- ack, nack with the broker's tag <- Acknowledgements <- _settle

A delivery skips what waits if nothing does and no fault may strike it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import ClassVar

from emulator.amqp.wire.commands import AckRun, Command
from emulator.amqp.wire.delivery_run import DeliveryRun
from emulator.amqp.wire.field_tables import plain_table
from emulator.amqp.wire.methods import (
    BasicAck,
    BasicCancel,
    BasicCancelOk,
    BasicConsume,
    BasicConsumeOk,
    BasicDeliver,
    BasicGet,
    BasicGetEmpty,
    BasicGetOk,
    BasicNack,
    BasicQos,
    BasicRecoverOk,
    BasicReject,
    QueueDeclare,
    QueueDeclareOk,
    TxCommitOk,
    TxRollbackOk,
    TxSelect,
)
from emulator.faults.fault import THROTTLED
from emulator.faults.fault_point import CallFailedError
from emulator.relay.amqp.acknowledgements import (
    Acknowledgements,
    BrokerSettlement,
    PrefetchWindow,
    UnknownTagError,
)
from emulator.relay.amqp.amqp_tap import Tap
from emulator.relay.amqp.channel_link import ChannelLink
from emulator.relay.amqp.faulted_deliveries import Consumer, FaultedDeliveries, Gets
from rdss_sandbox.shapes.trace import Disposition


class Deliveries:
    """The consumers and gets of one channel, with the messages that wait for them."""

    def __init__(self, link: ChannelLink, tap: Tap) -> None:
        self._link = link
        self._tap = tap
        self._window = PrefetchWindow()
        self._prefetch = 0
        self._acks = Acknowledgements()
        self._faults = link.context.faults
        self._faulted = FaultedDeliveries(link, self._acks, tap)
        self._consumers: dict[str, Consumer] = {}
        self._consuming: deque[Consumer] = deque()
        self._gets: dict[str, Gets] = {}
        self._getting: deque[Gets] = deque()
        self._declared = ""

    def close(self) -> None:
        """Stop delivering, and give up the waiting messages."""
        self._drop_all()
        self._consumers.clear()
        self._gets.clear()

    # What the client asks for

    def _qos(self, command: Command) -> None:
        asked = command.decode_as(BasicQos)
        if asked.global_:
            self._window.limit = asked.prefetch_count
        else:
            self._prefetch = asked.prefetch_count
        self._link.to_broker(command)

    def _consume(self, command: Command) -> None:
        asked = command.decode_as(BasicConsume)
        queue = asked.queue or self._declared
        consumer = self._faulted.new_consumer(
            queue, PrefetchWindow(self._prefetch, self._window), no_ack=asked.no_ack
        )
        if asked.consumer_tag:
            self._consumers[asked.consumer_tag] = consumer
        # The broker names a consumer that came without a tag: consume-ok tells it, in the order of requests.
        if not asked.nowait:
            self._consuming.append(consumer)
        self._faults.note_channel(queue)
        self._link.to_broker(command)

    def _consume_ok(self, command: Command) -> None:
        if self._consuming:
            self._consumers[command.decode_as(BasicConsumeOk).consumer_tag] = self._consuming.popleft()
        self._link.to_client(command)

    def _cancel(self, command: Command) -> None:
        asked = command.decode_as(BasicCancel)
        self._link.to_broker(command)
        # No cancel-ok will come that could do it.
        if asked.nowait:
            self._withdraw(asked.consumer_tag)

    def _cancel_done(self, command: Command) -> None:
        cancelled = command.decode()
        assert isinstance(cancelled, BasicCancel | BasicCancelOk)
        self._withdraw(cancelled.consumer_tag)
        self._link.to_client(command)

    def _withdraw(self, tag: str) -> None:
        """Remove a consumer, and requeue the messages that wait for it."""
        consumer = self._consumers.pop(tag, None)
        if consumer is None:
            return
        for handed in self._faulted.drop(consumer):
            self._send_settlements(self._acks.withdraw(handed))

    def _drop_all(self) -> None:
        readers: tuple[Consumer | Gets, ...] = (*self._consumers.values(), *self._gets.values())
        for reader in readers:
            self._faulted.drop(reader)

    def _declare(self, command: Command) -> None:
        asked = command.decode_as(QueueDeclare)
        self._declared = asked.queue or self._declared
        if asked.arguments and not asked.passive:
            self._tap.report_declare(asked.queue, plain_table(asked.arguments))
        self._link.to_broker(command)

    def _declare_ok(self, command: Command) -> None:
        self._declared = command.decode_as(QueueDeclareOk).queue
        self._link.to_client(command)

    def _tx_select(self, command: Command) -> None:
        self._acks.begin()
        self._link.to_broker(command)

    def _tx_ended(self, command: Command) -> None:
        if command.kind is TxRollbackOk:
            self._acks.roll_back()
        self._acks.begin()
        self._link.to_client(command)

    def _recover_ok(self, command: Command) -> None:
        # The broker delivers all of them again.
        self._drop_all()
        self._acks.forget_all()
        self._link.to_client(command)

    # Acknowledgements

    def _ack(self, command: Command) -> None:
        if not isinstance(command, AckRun):
            self._settle(command)
            return
        try:
            settlements = self._acks.acknowledge(command.tags)
        except UnknownTagError:
            # Those before the one that is unknown hold.
            for each in command.split():
                self._settle(each)
            return
        self._send_settlements(settlements)
        self._release_waiting()

    def _settle(self, command: Command) -> None:
        tag, multiple, disposition = _read_settlement(command)
        try:
            settlements = self._acks.settle(tag, multiple=multiple, disposition=disposition)
        except UnknownTagError:
            text = f"PRECONDITION_FAILED - unknown delivery tag {tag}"
            self._link.close_channel(406, text, command.method)
            return
        # As the client has it, so its frames go on as they came.
        if settlements == [BrokerSettlement(tag, multiple, disposition)]:
            self._link.to_broker(command)
        else:
            self._send_settlements(settlements)
        self._release_waiting()

    def _release_waiting(self) -> None:
        """Deliver what waits, where a window has room for it now."""
        for consumer in tuple(self._consumers.values()):
            if len(consumer.waiting):
                consumer.waiting.release()

    def _send_settlements(self, settlements: list[BrokerSettlement]) -> None:
        for tag, multiple, disposition in settlements:
            if disposition is Disposition.ACK:
                self._link.send_method_to_broker(BasicAck(tag, multiple))
            else:
                requeue = disposition is Disposition.REQUEUE
                self._link.send_method_to_broker(BasicNack(tag, multiple, requeue))

    # Consumers

    def _deliver(self, command: Command) -> None:
        tag = command.decode_as(BasicDeliver).consumer_tag
        consumer = self._consumers.get(tag)
        # Begun without a tag and without an answer: its first delivery tells the tag.
        if consumer is None:
            consumer = self._consumers[tag] = self._faulted.new_consumer("", PrefetchWindow(), no_ack=False)
        if isinstance(command, DeliveryRun) and self._faulted.pass_on(command, consumer):
            return
        for each in command.split():
            arrived = self._faulted.arrive(each, each.decode_as(BasicDeliver), consumer)
            if arrived is not None:
                consumer.waiting.arrive(arrived)

    # Gets

    def _get(self, command: Command) -> None:
        asked = command.decode_as(BasicGet)
        queue = asked.queue or self._declared
        gets = self._gets.get(queue)
        if gets is None:
            gets = self._gets[queue] = self._faulted.new_gets(queue)
        gets.no_ack = asked.no_ack
        self._getting.append(gets)
        # What is held back comes before what the broker has.
        if len(gets.waiting):
            self._link.context.spawn(self._answer(gets))
        else:
            self._faults.note_channel(queue)
            self._link.to_broker(command)

    def _get_ok(self, command: Command) -> None:
        gets = self._getting[0]
        arrived = self._faulted.arrive(command, command.decode_as(BasicGetOk), gets)
        if arrived is None:
            self._getting.popleft()
            return
        gets.waiting.add([arrived])
        self._link.context.spawn(self._answer(gets))

    async def _answer(self, gets: Gets) -> None:
        """Answer a get with a message that is due, or else ask the broker for another one."""
        try:
            await gets.waiting.meet()
        except CallFailedError as failed:
            if failed.failure.code != THROTTLED:
                self._faulted.fail(failed.failure)
            if not self._link.closed:
                self._getting.popleft()
                self._link.send_method_to_client(BasicGetEmpty(""))
            return
        if self._link.closed:
            return
        if due := gets.waiting.take(1):
            self._getting.popleft()
            self._faulted.hand_over(due[0])
        else:
            self._link.send_method_to_broker(BasicGet(0, gets.queue, gets.no_ack))

    def _get_empty(self, command: Command) -> None:
        gets = self._getting.popleft()
        if due := gets.waiting.take(1):
            self._faulted.hand_over(due[0])
        else:
            self._link.to_client(command)

    FROM_CLIENT: ClassVar[Mapping[type | None, Callable[[Deliveries, Command], None]]] = {
        BasicQos: _qos,
        BasicConsume: _consume,
        BasicCancel: _cancel,
        BasicGet: _get,
        BasicAck: _ack,
        BasicNack: _settle,
        BasicReject: _settle,
        QueueDeclare: _declare,
        TxSelect: _tx_select,
    }
    FROM_BROKER: ClassVar[Mapping[type | None, Callable[[Deliveries, Command], None]]] = {
        BasicDeliver: _deliver,
        BasicGetOk: _get_ok,
        BasicGetEmpty: _get_empty,
        BasicConsumeOk: _consume_ok,
        BasicCancelOk: _cancel_done,
        BasicCancel: _cancel_done,
        QueueDeclareOk: _declare_ok,
        BasicRecoverOk: _recover_ok,
        TxCommitOk: _tx_ended,
        TxRollbackOk: _tx_ended,
    }


def _read_settlement(command: Command) -> tuple[int, bool, Disposition]:
    """The tag of an ack, nack or reject, whether it is for multiple deliveries, and the disposition."""
    settled = command.decode()
    if isinstance(settled, BasicAck):
        return settled.delivery_tag, settled.multiple, Disposition.ACK
    assert isinstance(settled, BasicNack | BasicReject)
    multiple = isinstance(settled, BasicNack) and settled.multiple
    return settled.delivery_tag, multiple, Disposition.REQUEUE if settled.requeue else Disposition.DISCARD
