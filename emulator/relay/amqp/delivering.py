"""From the broker to the client: deliveries and gets with faults applied, and their acknowledgements.

    deliver -> Waiting.unseen -> fault engine -> Waiting.pending -> _hand_over -> client
                                                                                    |
    broker  <- ack, nack with the broker's tag <- Acknowledgements <- _settle <-----+

A delivery skips the queue if nothing waits and no fault wants it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any, Final, cast

from pamqp import commands
from pamqp.header import ContentHeader

from emulator.faults.delayed_deliveries import Due
from emulator.faults.fault import Call, Direction, Kind
from emulator.faults.faulted_message import Message
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
from emulator.relay.amqp.refusals import Answer, refusal
from emulator.relay.amqp.waiting import Arrived, Waiting

_RETRY_SECONDS: Final = 0.1
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
        self._readers: dict[str, Waiting] = {}
        self._consuming: deque[Waiting] = deque()
        self._gets: dict[str, Waiting] = {}
        self._getting: deque[Waiting] = deque()
        self._declared = ""
        self._wakers: dict[Waiting, asyncio.Task[None]] = {}
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
        for waker in self._wakers.values():
            waker.cancel()
        self._wakers.clear()
        for reader in (*self._readers.values(), *self._gets.values()):
            self._drop_waiting(reader)
        self._readers.clear()
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
        reader = Waiting(queue, bool(asked.no_ack), PrefetchWindow(self._prefetch, self._window))
        if asked.consumer_tag:
            self._readers[asked.consumer_tag] = reader
        if not asked.nowait:
            self._consuming.append(reader)
        self._link.context.note_channel(queue)
        self._link.to_broker(command)

    def _consume_ok(self, command: Command) -> None:
        tag, _ = read_short_string(command.frames[0], _ARGUMENTS)
        if self._consuming:
            self._readers[tag] = self._consuming.popleft()
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
        reader = self._readers.pop(tag, None)
        if reader is None:
            return
        self._cancel_waker(reader)
        for handed in self._drop_waiting(reader):
            self._send_settlements(self._acks.withdraw(handed))

    def _drop_waiting(self, reader: Waiting) -> list[BrokerDelivery]:
        dropped = reader.drop()
        self._link.count_held(-sum(each.arrived.command.size for each in dropped if each.first))
        return [each.arrived.handed for each in dropped if each.arrived.handed is not None]

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
        for reader in (*self._readers.values(), *self._gets.values()):
            self._drop_waiting(reader)
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
        for reader in tuple(self._readers.values()):
            if not reader.empty:
                self._release(reader)

    def _send_settlements(self, settlements: list[Settlement]) -> None:
        for tag, multiple, verdict in settlements:
            if verdict is Verdict.ACK:
                self._link.send_method_to_broker(commands.Basic.Ack(tag, multiple))
            else:
                requeue = verdict is Verdict.REQUEUE
                self._link.send_method_to_broker(commands.Basic.Nack(tag, multiple, requeue))

    # Consumers

    def _deliver(self, command: Command) -> None:
        frame = command.frames[0]
        consumer, end = read_short_string(frame, _ARGUMENTS)
        reader = self._readers.get(consumer)
        if reader is None:
            reader = self._readers[consumer] = Waiting("")
        tag = read_delivery_tag(frame, end)
        self._tap.report_delivery(reader.queue, command)
        arrived = Arrived(
            command, None if reader.no_ack else self._acks.add_broker_delivery(tag, reader.window)
        )
        if (
            reader.empty
            and reader.window.room
            and not self._link.context.wants(Direction.DELIVER, reader.queue)
        ):
            client_tag = self._acks.assign_tag(arrived.handed)
            if client_tag != tag:
                command.frames[0] = replace_tag(frame, end, client_tag, redelivered=False)
            self._link.to_client(command)
            return
        reader.unseen.append(arrived)
        self._link.count_held(command.size)
        self._release(reader)

    def _release(self, reader: Waiting) -> None:
        """Deliver what is due, and schedule the next delivery."""
        now = self._clock.time()
        while reader.unseen and now >= reader.again_at:
            if not self._meet_faults(reader, now):
                break
        while not self._link.closed and (due := reader.due(now)) is not None:
            self._hand_over(due)
        self._wake_later(reader)

    def _meet_faults(self, reader: Waiting, now: float) -> bool:
        """Let the faults strike the first unseen message; return False if a fault holds it up."""
        call = self._strike(reader)
        if call.failure is None:
            reader.accept(call, now)
            return True
        self._fail(reader, call, now)
        return False

    def _strike(self, reader: Waiting) -> Call:
        command = reader.unseen[0].command
        message = Message(command.body, read_partition_key(command), self._clock.time())
        return self._link.context.fault_engine.plan_delivery(reader.queue, Kind.RABBITMQ, [message])

    def _fail(self, reader: Waiting, call: Call, now: float) -> None:
        assert call.failure is not None
        refused = refusal(call.failure, confirming=False)
        if refused.answer is Answer.WAIT:
            reader.again_at = now + _RETRY_SECONDS
        else:
            self._link.refuse(refused, None)

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

    def _wake_later(self, reader: Waiting) -> None:
        self._cancel_waker(reader)
        changed = self._link.context.fault_engine.watch_removals()
        at = None if self._link.closed else reader.wakes_at()
        if at is not None:
            waking = self._wake(reader, at - self._clock.time(), changed)
            self._wakers[reader] = self._link.context.spawn(waking)

    async def _wake(self, reader: Waiting, seconds: float, changed: Callable[[], bool]) -> None:
        await self._clock.sleep(max(seconds, 0.001), changed)
        if changed():
            reader.again_at = 0.0
        self._wakers.pop(reader, None)
        self._release(reader)

    def _cancel_waker(self, reader: Waiting) -> None:
        if waker := self._wakers.pop(reader, None):
            waker.cancel()

    # Gets

    def _get(self, command: Command) -> None:
        asked = cast("commands.Basic.Get", decode_frame(command.frames[0]))
        queue = asked.queue or self._declared
        reader = self._gets.setdefault(queue, Waiting(queue))
        reader.no_ack = bool(asked.no_ack)
        self._getting.append(reader)
        if reader.empty:
            self._link.context.note_channel(queue)
            self._link.to_broker(command)
        else:
            self._link.context.spawn(self._answer(reader))

    def _get_ok(self, command: Command) -> None:
        reader = self._getting[0]
        tag = read_delivery_tag(command.frames[0], _ARGUMENTS)
        self._tap.report_delivery(reader.queue, command)
        arrived = Arrived(
            command, None if reader.no_ack else self._acks.add_broker_delivery(tag, PrefetchWindow())
        )
        if reader.empty and not self._link.context.wants(Direction.DELIVER, reader.queue):
            self._getting.popleft()
            client_tag = self._acks.assign_tag(arrived.handed)
            if client_tag != tag:
                command.frames[0] = replace_tag(command.frames[0], _ARGUMENTS, client_tag, redelivered=False)
            self._link.to_client(command)
            return
        reader.unseen.append(arrived)
        self._link.count_held(command.size)
        self._link.context.spawn(self._answer(reader))

    async def _answer(self, reader: Waiting) -> None:
        """Answer a get with a message that is due, or else ask the broker for another one."""
        while reader.unseen:
            call = self._strike(reader)
            await self._link.context.fault_engine.sleep_for(call)
            if call.failure is not None:
                self._fail(reader, call, 0.0)
                if not self._link.closed:
                    self._send_get_empty()
                return
            reader.accept(call, self._clock.time(), hide=False)
        if self._link.closed:
            return
        if (due := reader.due(self._clock.time())) is not None:
            self._getting.popleft()
            self._hand_over(due)
        else:
            self._link.send_method_to_broker(commands.Basic.Get(queue=reader.queue, no_ack=reader.no_ack))

    def _get_empty(self, command: Command) -> None:
        reader = self._getting[0]
        due = reader.due(self._clock.time())
        if due is None:
            self._getting.popleft()
            self._link.to_client(command)
            return
        self._getting.popleft()
        self._hand_over(due)

    def _send_get_empty(self) -> None:
        self._getting.popleft()
        self._link.send_method_to_client(commands.Basic.GetEmpty())


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
