"""From the client to the broker: its commands in order, and the confirms of its publishes."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from typing import ClassVar, NamedTuple

from emulator.amqp.wire.methods import BasicAck, BasicNack
from emulator.faults.fault import Call
from emulator.relay.amqp.amqp_tap import Tap
from emulator.relay.amqp.channel_link import ChannelLink
from emulator.relay.amqp.confirms import RelayedConfirms
from emulator.relay.amqp.faulted_publishes import FaultedPublishes
from emulator.relay.amqp.frames import ARGUMENTS, Command, Method, read_delivery_tag, read_target


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
        self._publishes = FaultedPublishes(link, tap)
        self._held_commands: deque[_HeldCommand] = deque()
        self._working: asyncio.Task[None] | None = None

    @property
    def busy(self) -> bool:
        return bool(self._held_commands)

    def close(self) -> None:
        """Give up the waiting commands."""
        if self._working is not None and self._working is not asyncio.current_task():
            self._working.cancel()
        self._hold(-sum(held.command.size for held in self._held_commands))
        self._held_commands.clear()
        self._handle = _ignore

    def take(self, command: Command) -> None:
        """Handle the client's next command at once, unless it or one before it must wait."""
        target = read_target(command.frames[0]) if command.method == Method.PUBLISH else None
        wanted = target is not None and self._publishes.concern(target)
        if not wanted and not self._held_commands:
            if target is not None:
                self._publishes.forward(command, target)
            else:
                self._handle(command)
            return
        self._held_commands.append(_HeldCommand(command, self._publishes.plan(command) if wanted else None))
        self._hold(command.size)
        if self._working is None:
            self._working = self._link.context.spawn(self._work())

    def _hold(self, size: int) -> None:
        self._link.context.peers.count_held_for_broker(size)

    async def _work(self) -> None:
        try:
            while self._held_commands:
                command, call = self._held_commands[0]
                if call is None:
                    self._handle(command)
                else:
                    await self._publishes.publish(command, call)
                if self._held_commands:
                    self._held_commands.popleft()
                    self._hold(-command.size)
        finally:
            self._working = None
            self._idle()

    def forward(self, command: Command) -> None:
        """Send a publish to the broker."""
        self._publishes.forward(command)

    def _confirm_select(self, command: Command) -> None:
        self._publishes.confirms = self._publishes.confirms or RelayedConfirms()
        self._link.to_broker(command)

    def _answered(self, command: Command) -> None:
        frame = command.frames[0]
        tag, multiple = read_delivery_tag(frame, ARGUMENTS), bool(frame[ARGUMENTS + 8] & 1)
        confirms = self._publishes.confirms
        if confirms is None or (not multiple and confirms.pass_answer(tag)):
            self._link.to_client(command)
            return
        acked = command.method == Method.ACK
        for confirm in confirms.translate_answer(tag, multiple=multiple, acked=acked):
            if confirm[:2] == (tag, multiple) and confirm.acked == acked:
                self._link.to_client(command)
            elif confirm.acked:
                self._link.send_method_to_client(BasicAck(confirm.tag, confirm.multiple))
            else:
                self._link.send_method_to_client(BasicNack(confirm.tag, confirm.multiple, requeue=False))

    FROM_CLIENT: ClassVar[Mapping[int, Callable[[Publishes, Command], None]]] = {
        Method.PUBLISH: forward,
        Method.CONFIRM_SELECT: _confirm_select,
    }
    FROM_BROKER: ClassVar[Mapping[int, Callable[[Publishes, Command], None]]] = {
        Method.ACK: _answered,
        Method.NACK: _answered,
    }


def _ignore(_command: Command) -> None:
    pass
