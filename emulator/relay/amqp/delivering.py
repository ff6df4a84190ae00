"""From the broker to the client: deliveries, gets, and their acknowledgements back."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any, Final, cast

from pamqp import commands
from pamqp.header import ContentHeader

from emulator.faults.delayed_deliveries import Due
from emulator.faults.fault import Call, Direction, Kind
from emulator.faults.message import Message
from emulator.relay.amqp.acknowledgements import (
    Acknowledgements,
    Handed,
    Settlement,
    UnknownTagError,
    Verdict,
    Window,
)
from emulator.relay.amqp.channel_link import ChannelLink
from emulator.relay.amqp.frames import (
    Command,
    Method,
    NotAmqpError,
    decoded,
    tag_of,
    text_at,
    with_body,
    with_tag,
)
from emulator.relay.amqp.refusals import Answer, refusal
from emulator.relay.amqp.tap import Tap
from emulator.relay.amqp.waiting import Arrived, Waiting

_RETRY_SECONDS: Final = 0.1
_ARGUMENTS: Final = 11
"""Where in a method's frame its arguments begin."""
KEY_HEADER: Final = "partition-key"


class Deliveries:
    """The readers of one channel, and what they hold."""

    def __init__(self, line: ChannelLink, tap: Tap) -> None:
        self._line = line
        self._tap = tap
        self._clock = line.points.clock
        self._window = Window()
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
            Method.CANCEL_OK: self._cancelled,
            Method.CANCEL: self._cancelled,
            Method.QUEUE_DECLARE_OK: self._declare_ok,
            Method.RECOVER_OK: self._recover_ok,
            Method.TX_COMMIT_OK: self._tx_ended,
            Method.TX_ROLLBACK_OK: self._tx_ended,
        }

    def close(self) -> None:
        """Nothing more is delivered."""
        for waker in self._wakers.values():
            waker.cancel()
        self._wakers.clear()
        for reader in (*self._readers.values(), *self._gets.values()):
            self._dropped(reader)
        self._readers.clear()
        self._gets.clear()

    # What the client asks for

    def _qos(self, unit: Command) -> None:
        asked = cast("commands.Basic.Qos", decoded(unit.frames[0]))
        if asked.global_:
            self._window.limit = asked.prefetch_count
        else:
            self._prefetch = asked.prefetch_count
        self._line.to_broker(unit)

    def _consume(self, unit: Command) -> None:
        asked = cast("commands.Basic.Consume", decoded(unit.frames[0]))
        queue = asked.queue or self._declared
        reader = Waiting(queue, bool(asked.no_ack), Window(self._prefetch, self._window))
        if asked.consumer_tag:
            self._readers[asked.consumer_tag] = reader
        if not asked.nowait:
            self._consuming.append(reader)
        self._line.points.note_channel(queue)
        self._line.to_broker(unit)

    def _consume_ok(self, unit: Command) -> None:
        tag, _ = text_at(unit.frames[0], _ARGUMENTS)
        if self._consuming:
            self._readers[tag] = self._consuming.popleft()
        self._line.to_client(unit)

    def _cancel(self, unit: Command) -> None:
        tag, end = text_at(unit.frames[0], _ARGUMENTS)
        self._line.to_broker(unit)
        if unit.frames[0][end] & 1:
            self._withdraw(tag)

    def _cancelled(self, unit: Command) -> None:
        self._withdraw(text_at(unit.frames[0], _ARGUMENTS)[0])
        self._line.to_client(unit)

    def _withdraw(self, tag: str) -> None:
        """The consumer is no more: what waits for it goes back to its queue."""
        reader = self._readers.pop(tag, None)
        if reader is None:
            return
        self._sleep_no_more(reader)
        for handed in self._dropped(reader):
            self._tell(self._acks.withdrawn(handed))

    def _dropped(self, reader: Waiting) -> list[Handed]:
        dropped = reader.drop()
        self._line.holds(-sum(each.arrived.unit.size for each in dropped if each.first))
        return [each.arrived.handed for each in dropped if each.arrived.handed is not None]

    def _declare(self, unit: Command) -> None:
        asked = cast("commands.Queue.Declare", decoded(unit.frames[0]))
        self._declared = asked.queue or self._declared
        if asked.arguments and not asked.passive:
            self._tap.declared(asked.queue, asked.arguments)
        self._line.to_broker(unit)

    def _declare_ok(self, unit: Command) -> None:
        self._declared, _ = text_at(unit.frames[0], _ARGUMENTS)
        self._line.to_client(unit)

    def _tx_select(self, unit: Command) -> None:
        self._acks.begin()
        self._line.to_broker(unit)

    def _tx_ended(self, unit: Command) -> None:
        if unit.method == Method.TX_ROLLBACK_OK:
            self._acks.roll_back()
        self._acks.begin()
        self._line.to_client(unit)

    def _recover_ok(self, unit: Command) -> None:
        for reader in (*self._readers.values(), *self._gets.values()):
            self._dropped(reader)
        self._acks.recovered()
        self._line.to_client(unit)

    # Acknowledgements

    def _settle(self, unit: Command) -> None:
        frame = unit.frames[0]
        tag, bits = tag_of(frame, _ARGUMENTS), frame[_ARGUMENTS + 8]
        multiple, verdict = _verdict(unit.method, bits)
        try:
            told = self._acks.settled(tag, multiple=multiple, verdict=verdict)
        except UnknownTagError:
            text = f"PRECONDITION_FAILED - unknown delivery tag {tag}"
            self._line.close_channel(406, text, unit.method)
            return
        if told == [Settlement(tag, multiple, verdict)]:
            self._line.to_broker(unit)
        else:
            self._tell(told)
        for reader in tuple(self._readers.values()):
            if not reader.empty:
                self._release(reader)

    def _tell(self, settlements: list[Settlement]) -> None:
        for tag, multiple, verdict in settlements:
            if verdict is Verdict.ACK:
                self._line.say_to_broker(commands.Basic.Ack(tag, multiple))
            else:
                requeue = verdict is Verdict.REQUEUE
                self._line.say_to_broker(commands.Basic.Nack(tag, multiple, requeue))

    # Consumers

    def _deliver(self, unit: Command) -> None:
        frame = unit.frames[0]
        consumer, end = text_at(frame, _ARGUMENTS)
        reader = self._readers.get(consumer)
        if reader is None:
            reader = self._readers[consumer] = Waiting("")
        tag = tag_of(frame, end)
        self._tap.delivered(reader.queue, unit)
        arrived = Arrived(unit, None if reader.no_ack else self._acks.handed_out(tag, reader.window))
        if (
            reader.empty
            and reader.window.room
            and not self._line.points.wants(Direction.DELIVER, reader.queue)
        ):
            given = self._acks.given(arrived.handed)
            if given != tag:
                unit.frames[0] = with_tag(frame, end, given, redelivered=False)
            self._line.to_client(unit)
            return
        reader.unseen.append(arrived)
        self._line.holds(unit.size)
        self._release(reader)

    def _release(self, reader: Waiting) -> None:
        """Deliver whatever is due by now, and come back when the next is."""
        now = self._clock.time()
        while reader.unseen and now >= reader.again_at:
            if not self._met(reader, now):
                break
        while not self._line.closed and (due := reader.due(now)) is not None:
            self._hand_over(due)
        self._wake_later(reader)

    def _met(self, reader: Waiting, now: float) -> bool:
        """Let the faults strike the first of the unseen; whether it got past them."""
        call = self._strike(reader)
        if call.failure is None:
            reader.struck(call, now)
            return True
        self._fail(reader, call, now)
        return False

    def _strike(self, reader: Waiting) -> Call:
        unit = reader.unseen[0].unit
        message = Message(unit.body, key_of(unit), self._clock.time())
        return self._line.points.fault_engine.plan_delivery(reader.queue, Kind.RABBITMQ, [message])

    def _fail(self, reader: Waiting, call: Call, now: float) -> None:
        assert call.failure is not None
        refused = refusal(call.failure, confirming=False)
        if refused.answer is Answer.WAIT:
            reader.again_at = now + _RETRY_SECONDS
        else:
            self._line.refuse(refused, None)

    def _hand_over(self, due: Due[Arrived]) -> None:
        unit, handed = due.record.unit, due.record.handed
        at = _ARGUMENTS if unit.method == Method.GET_OK else text_at(unit.frames[0], _ARGUMENTS)[1]
        given = self._acks.given(handed)
        frames = [with_tag(unit.frames[0], at, given, redelivered=due.again), *unit.frames[1:]]
        if due.data != unit.body:
            frames = with_body(frames, due.data, self._line.points.frame_max)
        if not due.again:
            self._line.holds(-unit.size)
        self._line.to_client(Command(unit.channel, unit.method, frames))

    def _wake_later(self, reader: Waiting) -> None:
        self._sleep_no_more(reader)
        changed = self._line.points.fault_engine.watch_removals()
        at = None if self._line.closed else reader.wakes_at()
        if at is not None:
            waking = self._wake(reader, at - self._clock.time(), changed)
            self._wakers[reader] = self._line.points.spawn(waking)

    async def _wake(self, reader: Waiting, seconds: float, changed: Callable[[], bool]) -> None:
        await self._clock.sleep(max(seconds, 0.001), changed)
        if changed():
            reader.again_at = 0.0
        self._wakers.pop(reader, None)
        self._release(reader)

    def _sleep_no_more(self, reader: Waiting) -> None:
        if waker := self._wakers.pop(reader, None):
            waker.cancel()

    # Gets

    def _get(self, unit: Command) -> None:
        asked = cast("commands.Basic.Get", decoded(unit.frames[0]))
        queue = asked.queue or self._declared
        reader = self._gets.setdefault(queue, Waiting(queue))
        reader.no_ack = bool(asked.no_ack)
        self._getting.append(reader)
        if reader.empty:
            self._line.points.note_channel(queue)
            self._line.to_broker(unit)
        else:
            self._line.points.spawn(self._answer(reader))

    def _get_ok(self, unit: Command) -> None:
        reader = self._getting[0]
        tag = tag_of(unit.frames[0], _ARGUMENTS)
        self._tap.delivered(reader.queue, unit)
        arrived = Arrived(unit, None if reader.no_ack else self._acks.handed_out(tag, Window()))
        if reader.empty and not self._line.points.wants(Direction.DELIVER, reader.queue):
            self._getting.popleft()
            given = self._acks.given(arrived.handed)
            if given != tag:
                unit.frames[0] = with_tag(unit.frames[0], _ARGUMENTS, given, redelivered=False)
            self._line.to_client(unit)
            return
        reader.unseen.append(arrived)
        self._line.holds(unit.size)
        self._line.points.spawn(self._answer(reader))

    async def _answer(self, reader: Waiting) -> None:
        """Answer a get with what is due, or have the broker look for something that may go first."""
        while reader.unseen:
            call = self._strike(reader)
            await self._line.points.fault_engine.sleep_for(call)
            if call.failure is not None:
                self._fail(reader, call, 0.0)
                if not self._line.closed:
                    self._nothing()
                return
            reader.struck(call, self._clock.time(), hide=False)
        if self._line.closed:
            return
        if (due := reader.due(self._clock.time())) is not None:
            self._getting.popleft()
            self._hand_over(due)
        else:
            self._line.say_to_broker(commands.Basic.Get(queue=reader.queue, no_ack=reader.no_ack))

    def _get_empty(self, unit: Command) -> None:
        reader = self._getting[0]
        due = reader.due(self._clock.time())
        if due is None:
            self._getting.popleft()
            self._line.to_client(unit)
            return
        self._getting.popleft()
        self._hand_over(due)

    def _nothing(self) -> None:
        self._getting.popleft()
        self._line.say_to_client(commands.Basic.GetEmpty())


def _verdict(method: int, bits: int) -> tuple[bool, Verdict]:
    """Whether for all up to the tag, and what: the bits of ack, nack and reject differ."""
    if method == Method.ACK:
        return bool(bits & 1), Verdict.ACK
    multiple, requeue = (bool(bits & 1), bits & 2) if method == Method.NACK else (False, bits & 1)
    return multiple, Verdict.REQUEUE if requeue else Verdict.DISCARD


def key_of(unit: Command) -> str:
    """The partition key among a content's headers; none when there is none, or they cannot be read."""
    try:
        header = cast("ContentHeader", decoded(unit.frames[1]))
    except NotAmqpError:
        return ""
    headers: dict[str, Any] = header.properties.headers or {}
    return str(headers.get(KEY_HEADER, ""))
