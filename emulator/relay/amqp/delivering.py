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

from emulator.amqp.wire.field_tables import plain_table
from emulator.amqp.wire.methods import (
    BasicAck,
    BasicConsume,
    BasicGet,
    BasicGetEmpty,
    BasicNack,
    BasicQos,
    QueueDeclare,
)
from emulator.faults.fault import THROTTLED
from emulator.faults.fault_point import CallFailedError
from emulator.relay.amqp.acknowledgements import (
    Acknowledgements,
    BrokerSettlement,
    PrefetchWindow,
    UnknownTagError,
    Verdict,
)
from emulator.relay.amqp.amqp_tap import Tap
from emulator.relay.amqp.channel_link import ChannelLink
from emulator.relay.amqp.faulted_deliveries import Consumer, FaultedDeliveries, Gets
from emulator.relay.amqp.frames import (
    ARGUMENTS,
    Command,
    Method,
    decode_method,
    read_delivery_tag,
    read_short_string,
)


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
        asked = decode_method(command.frames[0], BasicQos)
        if asked.global_:
            self._window.limit = asked.prefetch_count
        else:
            self._prefetch = asked.prefetch_count
        self._link.to_broker(command)

    def _consume(self, command: Command) -> None:
        asked = decode_method(command.frames[0], BasicConsume)
        queue = asked.queue or self._declared
        consumer = self._faulted.new_consumer(
            queue, PrefetchWindow(self._prefetch, self._window), no_ack=asked.no_ack
        )
        if asked.consumer_tag:
            self._consumers[asked.consumer_tag] = consumer
        if not asked.nowait:
            self._consuming.append(consumer)
        self._faults.note_channel(queue)
        self._link.to_broker(command)

    def _consume_ok(self, command: Command) -> None:
        tag, _ = read_short_string(command.frames[0], ARGUMENTS)
        if self._consuming:
            self._consumers[tag] = self._consuming.popleft()
        self._link.to_client(command)

    def _cancel(self, command: Command) -> None:
        tag, end = read_short_string(command.frames[0], ARGUMENTS)
        self._link.to_broker(command)
        if command.frames[0][end] & 1:
            self._withdraw(tag)

    def _cancel_done(self, command: Command) -> None:
        self._withdraw(read_short_string(command.frames[0], ARGUMENTS)[0])
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
        asked = decode_method(command.frames[0], QueueDeclare)
        self._declared = asked.queue or self._declared
        if asked.arguments and not asked.passive:
            self._tap.report_declare(asked.queue, plain_table(asked.arguments))
        self._link.to_broker(command)

    def _declare_ok(self, command: Command) -> None:
        self._declared, _ = read_short_string(command.frames[0], ARGUMENTS)
        self._link.to_client(command)

    def _tx_select(self, command: Command) -> None:
        self._acks.begin()
        self._link.to_broker(command)

    def _tx_ended(self, command: Command) -> None:
        if command.method == Method.TX_ROLLBACK_OK:
            self._acks.roll_back()
        self._acks.begin()
        self._link.to_client(command)

    def _recover_ok(self, command: Command) -> None:
        self._drop_all()
        self._acks.forget_all()
        self._link.to_client(command)

    # Acknowledgements

    def _settle(self, command: Command) -> None:
        frame = command.frames[0]
        tag, bits = read_delivery_tag(frame, ARGUMENTS), frame[ARGUMENTS + 8]
        multiple, verdict = _verdict(command.method, bits)
        try:
            settlements = self._acks.settle(tag, multiple=multiple, verdict=verdict)
        except UnknownTagError:
            text = f"PRECONDITION_FAILED - unknown delivery tag {tag}"
            self._link.close_channel(406, text, command.method)
            return
        if settlements == [BrokerSettlement(tag, multiple, verdict)]:
            self._link.to_broker(command)
        else:
            self._send_settlements(settlements)
        for consumer in tuple(self._consumers.values()):
            if len(consumer.waiting):
                consumer.waiting.release()

    def _send_settlements(self, settlements: list[BrokerSettlement]) -> None:
        for tag, multiple, verdict in settlements:
            if verdict is Verdict.ACK:
                self._link.send_method_to_broker(BasicAck(tag, multiple))
            else:
                requeue = verdict is Verdict.REQUEUE
                self._link.send_method_to_broker(BasicNack(tag, multiple, requeue))

    # Consumers

    def _deliver(self, command: Command) -> None:
        tag, end = read_short_string(command.frames[0], ARGUMENTS)
        consumer = self._consumers.get(tag)
        if consumer is None:
            consumer = self._consumers[tag] = self._faulted.new_consumer("", PrefetchWindow(), no_ack=False)
        arrived = self._faulted.arrive(command, consumer, end)
        if arrived is not None:
            consumer.waiting.arrive(arrived)

    # Gets

    def _get(self, command: Command) -> None:
        asked = decode_method(command.frames[0], BasicGet)
        queue = asked.queue or self._declared
        gets = self._gets.setdefault(queue, self._faulted.new_gets(queue))
        gets.no_ack = asked.no_ack
        self._getting.append(gets)
        if len(gets.waiting):
            self._link.context.spawn(self._answer(gets))
        else:
            self._faults.note_channel(queue)
            self._link.to_broker(command)

    def _get_ok(self, command: Command) -> None:
        gets = self._getting[0]
        arrived = self._faulted.arrive(command, gets, ARGUMENTS)
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

    FROM_CLIENT: ClassVar[Mapping[int, Callable[[Deliveries, Command], None]]] = {
        Method.QOS: _qos,
        Method.CONSUME: _consume,
        Method.CANCEL: _cancel,
        Method.GET: _get,
        Method.ACK: _settle,
        Method.NACK: _settle,
        Method.REJECT: _settle,
        Method.QUEUE_DECLARE: _declare,
        Method.TX_SELECT: _tx_select,
    }
    FROM_BROKER: ClassVar[Mapping[int, Callable[[Deliveries, Command], None]]] = {
        Method.DELIVER: _deliver,
        Method.GET_OK: _get_ok,
        Method.GET_EMPTY: _get_empty,
        Method.CONSUME_OK: _consume_ok,
        Method.CANCEL_OK: _cancel_done,
        Method.CANCEL: _cancel_done,
        Method.QUEUE_DECLARE_OK: _declare_ok,
        Method.RECOVER_OK: _recover_ok,
        Method.TX_COMMIT_OK: _tx_ended,
        Method.TX_ROLLBACK_OK: _tx_ended,
    }


def _verdict(method: int, bits: int) -> tuple[bool, Verdict]:
    """Read ``multiple`` and the verdict; the bits of ack, nack and reject have different meanings."""
    if method == Method.ACK:
        return bool(bits & 1), Verdict.ACK
    multiple, requeue = (bool(bits & 1), bits & 2) if method == Method.NACK else (False, bits & 1)
    return multiple, Verdict.REQUEUE if requeue else Verdict.DISCARD
