"""What the client publishes on one channel, as the faults in force let it through to the broker."""

from __future__ import annotations

from emulator.amqp.refusals import shorten
from emulator.amqp.wire.commands import Command, build_command
from emulator.amqp.wire.methods import BasicAck, BasicNack, BasicPublish, BasicReturn
from emulator.faults.fault import Call, Item
from emulator.faults.faulted_message import Message
from emulator.relay.amqp.amqp_tap import Tap
from emulator.relay.amqp.channel_link import ChannelLink
from emulator.relay.amqp.confirms import Confirms
from emulator.relay.amqp.frames import channel_of, read_partition_key, read_publish, replace_body
from emulator.relay.amqp.refusals import Answer, Refusal, refusal


class FaultedPublishes:
    """The publishes of one channel. ``confirms`` is there once the client has asked for confirms."""

    def __init__(self, link: ChannelLink, tap: Tap) -> None:
        self._link = link
        self._tap = tap
        self._faults = link.context.faults
        self.confirms: Confirms | None = None

    def concern(self, publish: BasicPublish) -> bool:
        """Report the channel to the fault engine, and return True if a fault may strike the publish."""
        channel = channel_of(publish)
        self._faults.note_channel(channel)
        return channel in self._faults.publishes

    def plan(self, command: Command) -> Call:
        """Decide what becomes of a publish."""
        publish = read_publish(command)
        message = Message(command.body, read_partition_key(command) or publish.routing_key)
        # In confirm mode, a publisher sends many messages before it waits, and each has its own answer.
        return self._faults.plan_publish(channel_of(publish), [message], single=self.confirms is None)

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
        if item.data != command.body:
            command = replace_body(command, item.data, self._link.context.frame_max)
        publish = read_publish(command)
        if turn:
            # Only the first copy is mandatory, so that a publish is returned once.
            once = build_command(command.channel, publish._replace(mandatory=False))
            command = Command(command.channel, command.method, once.frames + command.frames[1:])
        elif self.confirms is not None:
            self.confirms.note_forwarded(1 + item.copies, heard=call.failure is None)
        self._pass(command, publish)

    def _pass(self, command: Command, publish: BasicPublish) -> None:
        self._tap.record_publish(channel_of(publish), publish.routing_key, command)
        self._link.to_broker(command)

    def forward(self, command: Command, publish: BasicPublish | None = None) -> None:
        """Send a publish to the broker as it is."""
        if self.confirms is not None:
            self.confirms.note_passed()
        self._pass(command, publish or read_publish(command))

    def _return(self, command: Command, refused: Refusal) -> None:
        """Return an unroutable message if it is mandatory, and ack it, as a broker does."""
        publish = read_publish(command)
        if publish.mandatory:
            method = BasicReturn(refused.code, shorten(refused.text), publish.exchange, publish.routing_key)
            returned = build_command(command.channel, method)
            returned.frames += command.frames[1:]
            self._link.to_client(returned)
        if self.confirms is not None:
            self._confirm(acked=True)

    def _confirm(self, *, acked: bool) -> None:
        assert self.confirms is not None
        tag = self.confirms.last
        self._link.send_method_to_client(
            BasicAck(tag, multiple=False) if acked else BasicNack(tag, multiple=False, requeue=False)
        )
