"""From the broker to the client: deliveries and gets with faults applied, and their acknowledgements.

    deliver -> PushedDeliveries -> _hand_over --> client
    get-ok  -> HeldDeliveries   -> _answer    -----+  |
                                                      |
    broker  <- ack, nack with the broker's tag <- Acknowledgements <- _settle

A delivery skips what waits if nothing does and no fault may strike it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Final, cast

from pamqp import commands
from pamqp.header import ContentHeader

from emulator.faults.delayed_deliveries import Due
from emulator.faults.fault import THROTTLED, Failure
from emulator.faults.fault_point import CallFailedError
from emulator.faults.faulted_message import Message
from emulator.faults.held_deliveries import Form, HeldDeliveries, PushedDeliveries
from emulator.relay.amqp.acknowledgements import (
    Acknowledgements,
    BrokerDelivery,
    PrefetchWindow,
    Settlement,
    UnknownTagError,
    Verdict,
)
from emulator.relay.amqp.amqp_tap import Tap
from emulator.relay.amqp.channel_link import ChannelLink
from emulator.relay.amqp.frames import (
    Command,
    Method,
    NotAmqpError,
    decode_frame,
    read_delivery_tag,
    read_short_string,
    replace_body,
    replace_tag,
)
from emulator.relay.amqp.refusals import refusal
from emulator.relay.amqp.waiting import Arrived, Consumer, Gets, Reader

_ARGUMENTS: Final = 11
"""The offset of the arguments in the frame of a method."""
KEY_HEADER: Final = "partition-key"


class Deliveries:
    """The consumers and gets of one channel, with the messages that wait for them."""

    def __init__(self, link: ChannelLink, tap: Tap) -> None:
        self._link = link
        self._tap = tap
        self._clock = link.context.clock
        self._window = PrefetchWindow()
        self._prefetch = 0
        self._acks = Acknowledgements()
        self._faults = link.context.faults
        self._form = Form(
            lambda arrived: arrived.queue, self._message, one_by_one=True, planned=_expect_settlements
        )
        self._consumers: dict[str, Consumer] = {}
        self._consuming: deque[Consumer] = deque()
        self._gets: dict[str, Gets] = {}
        self._getting: deque[Gets] = deque()
        self._declared = ""
        self.from_client: dict[int, Callable[[Command], None]] = {
            Method.QOS: self._qos,
            Method.CONSUME: self._consume,
            Method.CANCEL: self._cancel,
            Method.GET: self._get,
            Method.ACK: self._settle,
            Method.NACK: self._settle,
            Method.REJECT: self._settle,
            Method.QUEUE_DECLARE: self._declare,
            Method.TX_SELECT: self._tx_select,
        }
        self.from_broker: dict[int, Callable[[Command], None]] = {
            Method.DELIVER: self._deliver,
            Method.GET_OK: self._get_ok,
            Method.GET_EMPTY: self._get_empty,
            Method.CONSUME_OK: self._consume_ok,
            Method.CANCEL_OK: self._cancel_done,
            Method.CANCEL: self._cancel_done,
            Method.QUEUE_DECLARE_OK: self._declare_ok,
            Method.RECOVER_OK: self._recover_ok,
            Method.TX_COMMIT_OK: self._tx_ended,
            Method.TX_ROLLBACK_OK: self._tx_ended,
        }

    def close(self) -> None:
        """Stop delivering, and give up the waiting messages."""
        self._drop_all()
        self._consumers.clear()
        self._gets.clear()

    # What the client asks for

    def _qos(self, command: Command) -> None:
        asked = cast("commands.Basic.Qos", decode_frame(command.frames[0]))
        if asked.global_:
            self._window.limit = asked.prefetch_count
        else:
            self._prefetch = asked.prefetch_count
        self._link.to_broker(command)

    def _consume(self, command: Command) -> None:
        asked = cast("commands.Basic.Consume", decode_frame(command.frames[0]))
        queue = asked.queue or self._declared
        consumer = self._new_consumer(
            queue, PrefetchWindow(self._prefetch, self._window), no_ack=bool(asked.no_ack)
        )
        if asked.consumer_tag:
            self._consumers[asked.consumer_tag] = consumer
        if not asked.nowait:
            self._consuming.append(consumer)
        self._faults.note_channel(queue)
        self._link.to_broker(command)

    def _consume_ok(self, command: Command) -> None:
        tag, _ = read_short_string(command.frames[0], _ARGUMENTS)
        if self._consuming:
            self._consumers[tag] = self._consuming.popleft()
        self._link.to_client(command)

    def _cancel(self, command: Command) -> None:
        tag, end = read_short_string(command.frames[0], _ARGUMENTS)
        self._link.to_broker(command)
        if command.frames[0][end] & 1:
            self._withdraw(tag)

    def _cancel_done(self, command: Command) -> None:
        self._withdraw(read_short_string(command.frames[0], _ARGUMENTS)[0])
        self._link.to_client(command)

    def _withdraw(self, tag: str) -> None:
        """Remove a consumer, and requeue the messages that wait for it."""
        consumer = self._consumers.pop(tag, None)
        if consumer is None:
            return
        for handed in self._drop_waiting(consumer):
            self._send_settlements(self._acks.withdraw(handed))

    def _drop_all(self) -> None:
        readers: tuple[Consumer | Gets, ...] = (*self._consumers.values(), *self._gets.values())
        for reader in readers:
            self._drop_waiting(reader)

    def _drop_waiting(self, reader: Consumer | Gets) -> list[BrokerDelivery]:
        dropped = reader.waiting.drop()
        self._link.count_held(-sum(each.record.command.size for each in dropped if not each.again))
        return [each.record.handed for each in dropped if each.record.handed is not None]

    def _declare(self, command: Command) -> None:
        asked = cast("commands.Queue.Declare", decode_frame(command.frames[0]))
        self._declared = asked.queue or self._declared
        if asked.arguments and not asked.passive:
            self._tap.report_declare(asked.queue, asked.arguments)
        self._link.to_broker(command)

    def _declare_ok(self, command: Command) -> None:
        self._declared, _ = read_short_string(command.frames[0], _ARGUMENTS)
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
        tag, bits = read_delivery_tag(frame, _ARGUMENTS), frame[_ARGUMENTS + 8]
        multiple, verdict = _verdict(command.method, bits)
        try:
            settlements = self._acks.settle(tag, multiple=multiple, verdict=verdict)
        except UnknownTagError:
            text = f"PRECONDITION_FAILED - unknown delivery tag {tag}"
            self._link.close_channel(406, text, command.method)
            return
        if settlements == [Settlement(tag, multiple, verdict)]:
            self._link.to_broker(command)
        else:
            self._send_settlements(settlements)
        for consumer in tuple(self._consumers.values()):
            if len(consumer.waiting):
                consumer.waiting.release()

    def _send_settlements(self, settlements: list[Settlement]) -> None:
        for tag, multiple, verdict in settlements:
            if verdict is Verdict.ACK:
                self._link.send_method_to_broker(commands.Basic.Ack(tag, multiple))
            else:
                requeue = verdict is Verdict.REQUEUE
                self._link.send_method_to_broker(commands.Basic.Nack(tag, multiple, requeue))

    # Consumers

    def _new_consumer(self, queue: str, window: PrefetchWindow, *, no_ack: bool) -> Consumer:
        waiting = PushedDeliveries(
            self._faults,
            self._form,
            self._link.context.loop,
            hand_over=self._hand_over,
            fail=self._fail,
            room=lambda: window.room and not self._link.closed,
        )
        return Reader(queue, waiting, no_ack, window)

    def _deliver(self, command: Command) -> None:
        tag, end = read_short_string(command.frames[0], _ARGUMENTS)
        consumer = self._consumers.get(tag)
        if consumer is None:
            consumer = self._consumers[tag] = self._new_consumer("", PrefetchWindow(), no_ack=False)
        arrived = self._arrive(command, consumer, end)
        if arrived is not None:
            consumer.waiting.arrive(arrived)

    def _arrive(self, command: Command, reader: Consumer | Gets, tag_at: int) -> Arrived | None:
        """Deliver a message at once, and return None, if no fault may strike it and none waits before it."""
        tag = read_delivery_tag(command.frames[0], tag_at)
        self._tap.report_delivery(reader.queue, command)
        handed = None if reader.no_ack else self._acks.add_broker_delivery(tag, reader.window)
        if len(reader.waiting) or not reader.window.room or reader.queue in self._faults.deliveries:
            self._link.count_held(command.size)
            return Arrived(command, handed, reader.queue)
        client_tag = self._acks.assign_tag(handed)
        if client_tag != tag:
            command.frames[0] = replace_tag(command.frames[0], tag_at, client_tag, redelivered=False)
        self._link.to_client(command)
        return None

    def _fail(self, failure: Failure) -> None:
        self._link.refuse(refusal(failure, confirming=False), None)

    def _hand_over(self, due: Due[Arrived]) -> None:
        command, handed = due.record.command, due.record.handed
        at = (
            _ARGUMENTS
            if command.method == Method.GET_OK
            else read_short_string(command.frames[0], _ARGUMENTS)[1]
        )
        client_tag = self._acks.assign_tag(handed)
        frames = [replace_tag(command.frames[0], at, client_tag, redelivered=due.again), *command.frames[1:]]
        if due.data != command.body:
            frames = replace_body(frames, due.data, self._link.context.frame_max)
        if not due.again:
            self._link.count_held(-command.size)
        self._link.to_client(Command(command.channel, command.method, frames))

    def _message(self, arrived: Arrived) -> Message:
        return Message(arrived.command.body, read_partition_key(arrived.command), self._clock.time())

    # Gets

    def _get(self, command: Command) -> None:
        asked = cast("commands.Basic.Get", decode_frame(command.frames[0]))
        queue = asked.queue or self._declared
        gets = self._gets.setdefault(queue, Reader(queue, HeldDeliveries(self._faults, self._form)))
        gets.no_ack = bool(asked.no_ack)
        self._getting.append(gets)
        if len(gets.waiting):
            self._link.context.spawn(self._answer(gets))
        else:
            self._faults.note_channel(queue)
            self._link.to_broker(command)

    def _get_ok(self, command: Command) -> None:
        gets = self._getting[0]
        arrived = self._arrive(command, gets, _ARGUMENTS)
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
                self._fail(failed.failure)
            if not self._link.closed:
                self._getting.popleft()
                self._link.send_method_to_client(commands.Basic.GetEmpty())
            return
        if self._link.closed:
            return
        if due := gets.waiting.take(1):
            self._getting.popleft()
            self._hand_over(due[0])
        else:
            self._link.send_method_to_broker(commands.Basic.Get(queue=gets.queue, no_ack=gets.no_ack))

    def _get_empty(self, command: Command) -> None:
        gets = self._getting.popleft()
        if due := gets.waiting.take(1):
            self._hand_over(due[0])
        else:
            self._link.to_client(command)


def _expect_settlements(arrived: Arrived, times: int) -> None:
    if arrived.handed is not None:
        arrived.handed.left = times


def _verdict(method: int, bits: int) -> tuple[bool, Verdict]:
    """Read ``multiple`` and the verdict; the bits of ack, nack and reject have different meanings."""
    if method == Method.ACK:
        return bool(bits & 1), Verdict.ACK
    multiple, requeue = (bool(bits & 1), bits & 2) if method == Method.NACK else (False, bits & 1)
    return multiple, Verdict.REQUEUE if requeue else Verdict.DISCARD


def read_partition_key(command: Command) -> str:
    """Read the partition key in a content's headers; empty when it is missing or not readable."""
    try:
        header = cast("ContentHeader", decode_frame(command.frames[1]))
    except NotAmqpError:
        return ""
    headers: dict[str, Any] = header.properties.headers or {}
    return str(headers.get(KEY_HEADER, ""))
