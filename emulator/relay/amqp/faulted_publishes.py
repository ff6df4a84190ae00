"""What the client publishes on one channel, as the faults in force let it through to the broker."""

from __future__ import annotations

from typing import Final

from emulator.amqp.refusals import shorten
from emulator.amqp.wire.methods import BasicAck, BasicNack, BasicReturn
from emulator.faults.fault import Call, Item
from emulator.faults.faulted_message import Message
from emulator.relay.amqp.amqp_tap import Tap
from emulator.relay.amqp.channel_link import ChannelLink
from emulator.relay.amqp.confirms import RelayedConfirms
from emulator.relay.amqp.frames import (
    Command,
    Method,
    PublishTarget,
    encode_method,
    read_partition_key,
    replace_body,
)
from emulator.relay.amqp.refusals import AmqpRefusal, Answer, refusal

_MANDATORY: Final = 1


class FaultedPublishes:
    """The publishes of one channel. ``confirms`` is there once the client has asked for confirms."""

    def __init__(self, link: ChannelLink, tap: Tap) -> None:
        self._link = link
        self._tap = tap
        self._faults = link.context.faults
        self.confirms: RelayedConfirms | None = None

    def concern(self, target: PublishTarget) -> bool:
        """Report the channel to the fault engine, and return True if a fault may strike the publish."""
        self._faults.note_channel(target.channel)
        return target.channel in self._faults.publishes

    def plan(self, command: Command) -> Call:
        """Decide what becomes of a publish."""
        target = PublishTarget(command.frames[0])
        key = read_partition_key(command) or target.routing_key
        message = Message(command.body, key, write_text=command.write_text)
        # In confirm mode, a publisher sends many messages before it waits, and each has its own answer.
        return self._faults.plan_publish(target.channel, [message], single=self.confirms is None)

    async def publish(self, command: Command, call: Call) -> None:
        """Carry out the plan of a publish. Meanwhile, a throttled publisher is blocked."""
        if call.throttled:
            self._link.context.peers.block()
            try:
                call = await self._faults.wait_while_throttled(call, lambda: self.plan(command))
            finally:
                self._link.context.peers.unblock()
        failure = await self._faults.publish_one(
            call, lambda item, turn: self._put(command, item, call, turn)
        )
        if failure is None:
            return
        if not failure.written and self.confirms is not None:
            self.confirms.note_refused()
        refused = refusal(failure, confirming=self.confirms is not None)
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
        elif self.confirms is not None:
            self.confirms.note_forwarded(1 + item.copies, heard=call.failure is None)
        self._pass(Command(command.channel, command.method, frames), target)

    def _pass(self, command: Command, target: PublishTarget) -> None:
        self._tap.record_publish(target.channel, target.routing_key, command)
        self._link.to_broker(command)

    def forward(self, command: Command, target: PublishTarget | None = None) -> None:
        """Send a publish to the broker as it is."""
        if self.confirms is not None:
            self.confirms.note_passed()
        self._pass(command, target or PublishTarget(command.frames[0]))

    def _return(self, command: Command, refused: AmqpRefusal) -> None:
        """Return an unroutable message if it is mandatory, and ack it, as a broker does."""
        target = PublishTarget(command.frames[0])
        if command.frames[0][target.bits_at] & _MANDATORY:
            returned = BasicReturn(refused.code, shorten(refused.text), target.exchange, target.routing_key)
            frames = [encode_method(returned, command.channel), *command.frames[1:]]
            self._link.to_client(Command(command.channel, Method.RETURN, frames))
        if self.confirms is not None:
            self._confirm(acked=True)

    def _confirm(self, *, acked: bool) -> None:
        assert self.confirms is not None
        tag = self.confirms.last
        self._link.send_method_to_client(
            BasicAck(tag, multiple=False) if acked else BasicNack(tag, multiple=False, requeue=False)
        )


def _not_mandatory(frame: bytes) -> bytes:
    at = PublishTarget(frame).bits_at
    return b"".join((frame[:at], bytes((frame[at] & ~_MANDATORY,)), frame[at + 1 :]))
