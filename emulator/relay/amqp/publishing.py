"""From the client to the broker: publishes in order, some late, twice or refused, and their confirms."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final

from pamqp import commands

from emulator.faults.fault import Call, Direction, Kind
from emulator.faults.message import Message
from emulator.relay.amqp.channel_link import ChannelLink
from emulator.relay.amqp.confirms import Confirms
from emulator.relay.amqp.delivering import key_of
from emulator.relay.amqp.frames import Command, Method, tag_of, text_at, with_body
from emulator.relay.amqp.refusals import Answer, Refusal, refusal
from emulator.relay.amqp.tap import Tap

_RETRY_SECONDS: Final = 0.1
_TICKET_BYTES: Final = 2
_ARGUMENTS: Final = 11
_MANDATORY: Final = 1


class Target:
    """Where a publish goes; ``channel`` is what the faults call it.

    That is the queue's name on the default exchange, and the exchange's on others.
    """

    __slots__ = ("bits_at", "channel", "exchange", "routing_key")

    def __init__(self, frame: bytes) -> None:
        self.exchange, at = text_at(frame, _ARGUMENTS + _TICKET_BYTES)
        self.routing_key, self.bits_at = text_at(frame, at)
        self.channel = self.exchange or self.routing_key


class _Late:
    """A unit that has to wait, since when, and what the faults made of it where they saw it."""

    __slots__ = ("call", "since", "unit")

    def __init__(self, unit: Command, call: Call | None, since: float) -> None:
        self.unit = unit
        self.call = call
        self.since = since


class Publishes:
    """What goes to the broker on one channel. While one unit waits, all behind it do."""

    def __init__(
        self,
        line: ChannelLink,
        handle: Callable[[Command], None],
        idle: Callable[[], None],
        tap: Tap,
    ) -> None:
        self._line = line
        self._handle = handle
        self._idle = idle
        self._tap = tap
        self._clock = line.points.clock
        self._late: deque[_Late] = deque()
        self._confirms: Confirms | None = None
        self._working: asyncio.Task[None] | None = None
        self.from_client: dict[int, Callable[[Command], None]] = {
            Method.PUBLISH: self._forward,
            Method.CONFIRM_SELECT: self._confirm_select,
        }
        self.from_broker: dict[int, Callable[[Command], None]] = {
            Method.ACK: self._answered,
            Method.NACK: self._answered,
        }

    @property
    def busy(self) -> bool:
        return bool(self._late)

    def close(self) -> None:
        """Give up what waits."""
        if self._working is not None and self._working is not asyncio.current_task():
            self._working.cancel()
        self._hold(-sum(late.unit.size for late in self._late))
        self._late.clear()

    def take(self, unit: Command) -> None:
        """The client's next unit: handled at once, unless it, or one before it, has to wait."""
        target = Target(unit.frames[0]) if unit.method == Method.PUBLISH else None
        wanted = target is not None and self._wanted(target)
        if not wanted and not self._late:
            if target is not None:
                self._forward(unit, target)
            else:
                self._handle(unit)
            return
        call = self._strike(unit) if wanted else None
        self._late.append(_Late(unit, call, self._clock.elapsed()))
        self._hold(unit.size)
        if self._working is None:
            self._working = self._line.points.spawn(self._work())

    def _wanted(self, target: Target) -> bool:
        self._line.points.note_channel(target.channel)
        return self._line.points.wants(Direction.PUBLISH, target.channel)

    def _strike(self, unit: Command) -> Call:
        target = Target(unit.frames[0])
        message = Message(unit.body, key_of(unit) or target.routing_key)
        # With confirms a publisher sends many before it waits, and each has an answer of its own.
        alone = self._confirms is None
        return self._line.points.fault_engine.plan_publish(
            target.channel, Kind.RABBITMQ, [message], single=alone
        )

    def _hold(self, size: int) -> None:
        self._line.points.ends.held_for_broker(size)

    async def _work(self) -> None:
        try:
            while self._late:
                late = self._late[0]
                if late.call is not None:
                    await self._line.points.fault_engine.sleep_for(late.call, late.since)
                if late.call is None:
                    self._handle(late.unit)
                else:
                    await self._publish(late.unit, late.call)
                if self._late:
                    self._late.popleft()
                    self._hold(-late.unit.size)
        finally:
            self._working = None
            self._idle()

    async def _publish(self, unit: Command, call: Call) -> None:
        call = await self._patiently(unit, call)
        (item,) = call.items
        failure = call.failure or item.failure
        refused = refusal(failure, confirming=self._confirms is not None) if failure else None
        if failure is None or failure.written:
            self._put(unit, item.data, 1 + item.copies, heard=failure is None)
            if call.actions:
                await asyncio.to_thread(self._line.points.fault_engine.run_actions, call)
        elif self._confirms is not None:
            self._confirms.refused()
        if refused is not None:
            self._refuse(unit, refused)

    async def _patiently(self, unit: Command, call: Call) -> Call:
        """Wait until the message is throttled no more, as a broker that is short of memory has it wait."""
        if not _throttled(call):
            return call
        self._line.points.ends.block()
        try:
            while _throttled(call):
                changed = self._line.points.fault_engine.watch_removals()
                # The fault may have gone since the message met it, and then nothing would end the wait.
                if self._line.points.wants(Direction.PUBLISH, Target(unit.frames[0]).channel):
                    await self._clock.sleep(_RETRY_SECONDS, changed)
                call = self._strike(unit)
            return call
        finally:
            self._line.points.ends.unblock()

    def _put(self, unit: Command, data: bytes, times: int, *, heard: bool) -> None:
        frames = unit.frames
        if data != unit.body:
            frames = with_body(frames, data, self._line.points.frame_max)
        if self._confirms is not None:
            self._confirms.forwarded(times, heard=heard)
        target = Target(frames[0])
        self._pass(Command(unit.channel, unit.method, frames), target)
        if times > 1:
            # One publish is returned once, however often it went.
            copy = Command(unit.channel, unit.method, [_not_mandatory(frames[0]), *frames[1:]])
            for _ in range(times - 1):
                self._pass(copy, target)

    def _pass(self, unit: Command, target: Target) -> None:
        self._tap.published(target.channel, target.routing_key, unit)
        self._line.to_broker(unit)

    def _forward(self, unit: Command, target: Target | None = None) -> None:
        if self._confirms is not None:
            self._confirms.forwarded()
        self._pass(unit, target or Target(unit.frames[0]))

    def _refuse(self, unit: Command, refused: Refusal) -> None:
        if refused.answer is Answer.RETURN:
            self._return(unit, refused)
        elif refused.answer is Answer.NACK:
            self._confirm(acked=False)
        else:
            self._line.refuse(refused, unit.method)

    def _return(self, unit: Command, refused: Refusal) -> None:
        """No queue would have it: it comes back if the publisher wants that, and counts as dealt with."""
        target = Target(unit.frames[0])
        if unit.frames[0][target.bits_at] & _MANDATORY:
            returned = commands.Basic.Return(refused.code, refused.text, target.exchange, target.routing_key)
            self._line.say_to_client(returned)
            self._line.to_client(Command(unit.channel, 0, unit.frames[1:]))
        if self._confirms is not None:
            self._confirm(acked=True)

    def _confirm(self, *, acked: bool) -> None:
        assert self._confirms is not None
        tag = self._confirms.last
        self._line.say_to_client(
            commands.Basic.Ack(tag) if acked else commands.Basic.Nack(tag, requeue=False)
        )

    def _confirm_select(self, unit: Command) -> None:
        self._confirms = self._confirms or Confirms()
        self._line.to_broker(unit)

    def _answered(self, unit: Command) -> None:
        frame = unit.frames[0]
        tag, multiple, acked = (
            tag_of(frame, _ARGUMENTS),
            bool(frame[_ARGUMENTS + 8] & 1),
            unit.method == Method.ACK,
        )
        if self._confirms is None:
            self._line.to_client(unit)
            return
        for confirm in self._confirms.answered(tag, multiple=multiple, acked=acked):
            if confirm[:2] == (tag, multiple) and confirm.acked == acked:
                self._line.to_client(unit)
            elif confirm.acked:
                self._line.say_to_client(commands.Basic.Ack(confirm.tag, confirm.multiple))
            else:
                self._line.say_to_client(commands.Basic.Nack(confirm.tag, confirm.multiple, requeue=False))


def _throttled(call: Call) -> bool:
    failure = call.failure or call.items[0].failure
    return failure is not None and refusal(failure, confirming=False).answer is Answer.WAIT


def _not_mandatory(frame: bytes) -> bytes:
    at = Target(frame).bits_at
    return b"".join((frame[:at], bytes((frame[at] & ~_MANDATORY,)), frame[at + 1 :]))
