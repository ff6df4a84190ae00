"""From the client to the broker: publishes in order, with faults applied, and their confirms."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple

from pamqp import commands

from emulator.faults.fault import Call, Item
from emulator.faults.faulted_message import Message
from emulator.relay.amqp.amqp_tap import Tap
from emulator.relay.amqp.channel_link import ChannelLink
from emulator.relay.amqp.confirms import Confirms
from emulator.relay.amqp.frames import (
    ARGUMENTS,
    Command,
    Method,
    read_delivery_tag,
    read_partition_key,
    read_short_string,
    replace_body,
)
from emulator.relay.amqp.refusals import Answer, Refusal, refusal

_TICKET_BYTES: Final = 2
_MANDATORY: Final = 1


class PublishTarget:
    """The target of a publish. ``channel`` is its name for faults.

    That is the queue on the default exchange, and otherwise the exchange.
    """

    __slots__ = ("bits_at", "channel", "exchange", "routing_key")

    def __init__(self, frame: bytes) -> None:
        self.exchange, at = read_short_string(frame, ARGUMENTS + _TICKET_BYTES)
        self.routing_key, self.bits_at = read_short_string(frame, at)
        self.channel = self.exchange or self.routing_key


class _HeldCommand(NamedTuple):
    """A command that waits, and the fault engine's call if a fault may strike it."""

    command: Command
    call: Call | None


class Publishes:
    """The commands of the client on one channel. While one waits, all behind it wait too."""

    def __init__(
        self,
        link: ChannelLink,
        handle: Callable[[Command], None],
        idle: Callable[[], None],
        tap: Tap,
    ) -> None:
        self._link = link
        self._handle = handle
        self._idle = idle
        self._tap = tap
        self._faults = link.context.faults
        self._held_commands: deque[_HeldCommand] = deque()
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
        return bool(self._held_commands)

    def close(self) -> None:
        """Give up the waiting commands."""
        if self._working is not None and self._working is not asyncio.current_task():
            self._working.cancel()
        self._hold(-sum(held.command.size for held in self._held_commands))
        self._held_commands.clear()

    def take(self, command: Command) -> None:
        """Handle the client's next command at once, unless it or one before it must wait."""
        target = PublishTarget(command.frames[0]) if command.method == Method.PUBLISH else None
        wanted = False
        if target is not None:
            self._faults.note_channel(target.channel)
            wanted = target.channel in self._faults.publishes
        if not wanted and not self._held_commands:
            if target is not None:
                self._forward(command, target)
            else:
                self._handle(command)
            return
        self._held_commands.append(_HeldCommand(command, self._plan(command) if wanted else None))
        self._hold(command.size)
        if self._working is None:
            self._working = self._link.context.spawn(self._work())

    def _plan(self, command: Command) -> Call:
        target = PublishTarget(command.frames[0])
        message = Message(command.body, read_partition_key(command) or target.routing_key)
        # In confirm mode, a publisher sends many messages before it waits, and each has its own answer.
        return self._faults.plan_publish(target.channel, [message], single=self._confirms is None)

    def _hold(self, size: int) -> None:
        self._link.context.peers.count_held_for_broker(size)

    async def _work(self) -> None:
        try:
            while self._held_commands:
                command, call = self._held_commands[0]
                if call is None:
                    self._handle(command)
                else:
                    await self._publish(command, call)
                if self._held_commands:
                    self._held_commands.popleft()
                    self._hold(-command.size)
        finally:
            self._working = None
            self._idle()

    async def _publish(self, command: Command, call: Call) -> None:
        if call.throttled:
            self._link.context.peers.block()
            try:
                call = await self._faults.wait_while_throttled(call, lambda: self._plan(command))
            finally:
                self._link.context.peers.unblock()
        failure = await self._faults.publish_one(
            call, lambda item, turn: self._put(command, item, call, turn)
        )
        if failure is None:
            return
        if not failure.written and self._confirms is not None:
            self._confirms.note_refused()
        refused = refusal(failure, confirming=self._confirms is not None)
        if refused.answer is Answer.RETURN:
            self._return(command, refused)
        elif refused.answer is Answer.NACK:
            self._confirm(acked=False)
        else:
            self._link.refuse(refused, command.method)

    def _put(self, command: Command, item: Item, call: Call, turn: int) -> None:
        frames = command.frames
        if item.data != command.body:
            frames = replace_body(frames, item.data, self._link.context.frame_max)
        target = PublishTarget(frames[0])
        if turn:
            # Only the first copy is mandatory, so that a publish is returned once.
            frames = [_not_mandatory(frames[0]), *frames[1:]]
        elif self._confirms is not None:
            self._confirms.note_forwarded(1 + item.copies, heard=call.failure is None)
        self._pass(Command(command.channel, command.method, frames), target)

    def _pass(self, command: Command, target: PublishTarget) -> None:
        self._tap.record_publish(target.channel, target.routing_key, command)
        self._link.to_broker(command)

    def _forward(self, command: Command, target: PublishTarget | None = None) -> None:
        if self._confirms is not None:
            self._confirms.note_forwarded()
        self._pass(command, target or PublishTarget(command.frames[0]))

    def _return(self, command: Command, refused: Refusal) -> None:
        """Return an unroutable message if it is mandatory, and ack it, as a broker does."""
        target = PublishTarget(command.frames[0])
        if command.frames[0][target.bits_at] & _MANDATORY:
            returned = commands.Basic.Return(refused.code, refused.text, target.exchange, target.routing_key)
            self._link.send_method_to_client(returned)
            self._link.to_client(Command(command.channel, 0, command.frames[1:]))
        if self._confirms is not None:
            self._confirm(acked=True)

    def _confirm(self, *, acked: bool) -> None:
        assert self._confirms is not None
        tag = self._confirms.last
        self._link.send_method_to_client(
            commands.Basic.Ack(tag) if acked else commands.Basic.Nack(tag, requeue=False)
        )

    def _confirm_select(self, command: Command) -> None:
        self._confirms = self._confirms or Confirms()
        self._link.to_broker(command)

    def _answered(self, command: Command) -> None:
        frame = command.frames[0]
        tag, multiple = read_delivery_tag(frame, ARGUMENTS), bool(frame[ARGUMENTS + 8] & 1)
        acked = command.method == Method.ACK
        if self._confirms is None:
            self._link.to_client(command)
            return
        for confirm in self._confirms.translate_answer(tag, multiple=multiple, acked=acked):
            if confirm[:2] == (tag, multiple) and confirm.acked == acked:
                self._link.to_client(command)
            elif confirm.acked:
                self._link.send_method_to_client(commands.Basic.Ack(confirm.tag, confirm.multiple))
            else:
                self._link.send_method_to_client(
                    commands.Basic.Nack(confirm.tag, confirm.multiple, requeue=False)
                )


def _not_mandatory(frame: bytes) -> bytes:
    at = PublishTarget(frame).bits_at
    return b"".join((frame[:at], bytes((frame[at] & ~_MANDATORY,)), frame[at + 1 :]))
