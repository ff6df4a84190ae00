"""From the client to the broker: its commands in order, publishes as the faults in force let them through.

    publish -> forward ------------------------> broker
    publish -> _publish (as the fault engine plans) -> _put --> broker, as often as that says
    client  <- confirms with the client's numbers <- _answered

While a command waits, all behind it wait too.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from typing import ClassVar, NamedTuple

from emulator.amqp.confirms import Confirms, PublishConfirm
from emulator.amqp.refusals import shorten
from emulator.amqp.wire.commands import Command
from emulator.amqp.wire.methods import BasicAck, BasicNack, BasicPublish, BasicReturn, ConfirmSelect
from emulator.faults.fault import Call, Item
from emulator.faults.faulted_message import Message
from emulator.relay.amqp.amqp_tap import Tap
from emulator.relay.amqp.channel_link import ChannelLink
from emulator.relay.amqp.message_contents import read_partition_key, replace_content
from emulator.relay.amqp.refusals import AmqpRefusal, Answer, refusal


class _HeldCommand(NamedTuple):
    """A command that waits, and the fault engine's call if a fault may strike it."""

    command: Command
    call: Call | None


class Publishes:
    """The commands of the client on one channel, and the confirms of its publishes once it asks for them.

    ``latest`` is the name for faults of what it published to last.
    """

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
        self.latest = ""
        self._confirms: Confirms | None = None
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
        may_be_struck = command.kind is BasicPublish and self._concern(command)
        if not may_be_struck and not self._held_commands:
            self._handle(command)
            return
        for each in command.split():
            self._held_commands.append(_HeldCommand(each, self._plan(each) if may_be_struck else None))
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
                    await self._publish(command, call)
                if self._held_commands:
                    self._held_commands.popleft()
                    self._hold(-command.size)
        finally:
            self._working = None
            self._idle()

    # Publishes

    def forward(self, command: Command) -> None:
        """Send a publish, or a run of them, to the broker as it is."""
        if self._confirms is not None:
            self._confirms.note_passed(command.times)
        self._pass(command)

    def _pass(self, command: Command) -> None:
        self.latest = _channel_of(command)
        self._tap.record_publish(self.latest, command.decode_as(BasicPublish).routing_key, command)
        self._link.to_broker(command)

    def _concern(self, command: Command) -> bool:
        """Report the channel to the fault engine, and return True if a fault may strike the publish."""
        channel = _channel_of(command)
        self._faults.note_channel(channel)
        return channel in self._faults.publishes

    def _plan(self, command: Command) -> Call:
        """Decide what becomes of a publish."""
        key = read_partition_key(command) or command.decode_as(BasicPublish).routing_key
        # In confirm mode, a publisher sends many messages before it waits, and each has its own answer.
        message = Message(command.body, key, write_text=command.write_text)
        return self._faults.plan_publish(_channel_of(command), [message], single=self._confirms is None)

    async def _publish(self, command: Command, call: Call) -> None:
        """Carry out the plan of a publish. Meanwhile, a throttled publisher is blocked."""
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
        command = replace_content(command, item.data, self._link.context.frame_max)
        if turn:
            # Only the first copy is mandatory, so that a publish is returned once.
            command = command.with_method(command.decode_as(BasicPublish)._replace(mandatory=False))
        elif self._confirms is not None:
            self._confirms.note_forwarded(1 + item.copies, heard=call.failure is None)
        self._pass(command)

    def _return(self, command: Command, refused: AmqpRefusal) -> None:
        """Return an unroutable message if it is mandatory, and ack it, as a broker does."""
        publish = command.decode_as(BasicPublish)
        if publish.mandatory:
            method = BasicReturn(refused.code, shorten(refused.text), publish.exchange, publish.routing_key)
            self._link.to_client(command.with_method(method))
        if self._confirms is not None:
            self._confirm(acked=True)

    # Confirms

    def _confirm_select(self, command: Command) -> None:
        self._confirms = self._confirms or Confirms()
        self._link.to_broker(command)

    def _confirm(self, *, acked: bool) -> None:
        """Answer the latest publish, of which the broker does not know."""
        assert self._confirms is not None
        self._send_confirm(PublishConfirm(self._confirms.last, False, acked))

    def _answered(self, run: Command) -> None:
        for command in run.split():
            self._pass_answer(command)

    def _pass_answer(self, command: Command) -> None:
        answer = command.decode()
        assert isinstance(answer, BasicAck | BasicNack)
        tag, multiple, acked = answer.delivery_tag, answer.multiple, isinstance(answer, BasicAck)
        if self._confirms is None or (not multiple and self._confirms.pass_answer(tag)):
            self._link.to_client(command)
            return
        self._confirms.answer(tag, multiple=multiple, acked=acked)
        for confirm in self._confirms.take():
            if confirm == (tag, multiple, acked):
                self._link.to_client(command)
            else:
                self._send_confirm(confirm)

    def _send_confirm(self, confirm: PublishConfirm) -> None:
        tag, multiple, acked = confirm
        self._link.send_method_to_client(
            BasicAck(tag, multiple) if acked else BasicNack(tag, multiple, requeue=False)
        )

    FROM_CLIENT: ClassVar[Mapping[type | None, Callable[[Publishes, Command], None]]] = {
        BasicPublish: forward,
        ConfirmSelect: _confirm_select,
    }
    FROM_BROKER: ClassVar[Mapping[type | None, Callable[[Publishes, Command], None]]] = {
        BasicAck: _answered,
        BasicNack: _answered,
    }


def _channel_of(command: Command) -> str:
    """The name for faults of what is published to: the queue on the default exchange, else the exchange."""
    publish = command.decode_as(BasicPublish)
    return publish.exchange or publish.routing_key


def _ignore(_command: Command) -> None:
    pass
