"""What a client does over one connection of AMQP, as items of a trace."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Final

from msgspec.structs import replace

from emulator.amqp.wire.commands import Command
from emulator.amqp.wire.methods import BasicAck, BasicNack, BasicPublish
from emulator.amqp.wire.properties import Properties
from emulator.diagnosis.lab_trace import Trace, WatchedClient
from emulator.diagnosis.queue_records import ChannelRecord, Owed
from rdss_sandbox.shapes.trace import (
    Delivery,
    Disposition,
    Put,
    PutEntry,
    Read,
    Settlement,
    Subscription,
    TraceItem,
)

_PERSISTENT: Final = 2


class ConnectionTrace:
    """Writes a connection to a trace. It belongs to the start of the client during which it was opened."""

    def __init__(self, trace: Trace, client: WatchedClient) -> None:
        self._trace = trace
        self._client = client
        self._life = trace.life_at(trace.now)
        trace.note_connection(client, opened=True)

    def note_command(self) -> None:
        """Note that a command came, before it is looked at."""
        self._trace.note_request()
        self._trace.listen()

    def note_lost(self) -> None:
        self._trace.note_connection(self._client, opened=False)

    def note_subscription(self, queue: str, prefetch: int, *, no_ack: bool) -> None:
        self._note(Subscription(self._trace.now, self._life, queue, prefetch, no_ack))

    def note_delivery(self, queue: str, command: Command, *, owed: bool, pushed: bool = True) -> Delivery:
        """Note a message that is pushed, or that was fetched. The kit gave it its number as message_id."""
        number = Properties(command.properties).text("message_id") or ""
        delivery = Delivery(number, self._trace.identify(self._read(command)))
        self._note_read(queue, (delivery,), pushed=pushed, owed=owed)
        return delivery

    def note_empty(self, queue: str) -> None:
        """Note that nothing was there to be fetched."""
        self._note_read(queue)

    def note_failed_reads(self, channels: Iterable[ChannelRecord], error: str) -> None:
        """Note for each queue that is consumed, or asked for a message, that its deliveries end."""
        found = [(*channel.consumers.values(), *channel.gets) for channel in channels]
        for queue in dict.fromkeys(record.queue for each in found for record, _ in each):
            self._note_read(queue, error=error, pushed=True)

    def note_settlement(self, disposition: Disposition, settled: Sequence[Owed]) -> None:
        for queue in dict.fromkeys(owed.record.queue for owed in settled):
            items = tuple(owed.item for owed in settled if owed.item and owed.record.queue == queue)
            self._note(Settlement(self._trace.now, self._life, queue, disposition, items))

    def note_publish(self, channel: ChannelRecord, command: Command) -> None:
        """Note a publish, or keep it until it is confirmed."""
        asked = command.decode_as(BasicPublish)
        body, data, now = command.body, self._read(command), self._trace.now
        entry = PutEntry(self._trace.identify(data), sha256(body).hexdigest(), len(body), asked.routing_key)
        put = Put(
            now,
            now,
            self._life,
            # The default exchange has no name of its own, and its keys are names of queues.
            asked.exchange or asked.routing_key,
            (entry,),
            confirmed=channel.confirming,
            persistent=Properties(command.properties).number("delivery_mode") == _PERSISTENT,
            mandatory=asked.mandatory,
        )
        if channel.confirming:
            channel.published += 1
            channel.waiting[channel.published] = put, data
        else:
            self._trace.note_item(put, data)

    def note_confirm(self, channel: ChannelRecord, command: Command) -> None:
        """Note the broker's answer to publishes."""
        answer = command.decode()
        assert isinstance(answer, BasicAck | BasicNack)
        tags = [answer.delivery_tag]
        if answer.multiple:
            tags = [tag for tag in channel.waiting if not answer.delivery_tag or tag <= answer.delivery_tag]
        self._note_answered(channel, tags, "nack" if isinstance(answer, BasicNack) else "")

    def note_return(self, channel: ChannelRecord, command: Command) -> None:
        """Note which publish comes back. A broker confirms in any order, so the body tells which it is."""
        returned = self._read(command)
        for tag, (put, data) in channel.waiting.items():
            if data == returned and not put.error:
                channel.waiting[tag] = replace(put, error="returned"), data
                return

    def note_unanswered(self, channel: ChannelRecord, error: str) -> None:
        """Note that the publishes that wait get no answer any more."""
        self._note_answered(channel, tuple(channel.waiting), error)

    def _note_answered(self, channel: ChannelRecord, tags: Iterable[int], error: str) -> None:
        self._trace.listen()
        for tag in tags:
            if (kept := channel.waiting.pop(tag, None)) is not None:
                put, data = kept
                self._trace.note_item(replace(put, at=self._trace.now, error=error or put.error), data)

    def _note_read(
        self,
        queue: str,
        records: tuple[Delivery, ...] = (),
        *,
        error: str = "",
        pushed: bool = False,
        owed: bool = False,
    ) -> None:
        now = self._trace.now
        self._note(Read(now, self._life, queue, queue, "", records, pushed=pushed, error=error, owed=owed))

    def _read(self, command: Command) -> bytes:
        """A message as the contract judges it."""
        return command.write_text(self._trace.contract, command.body)

    def _note(self, item: TraceItem) -> None:
        self._trace.note_item(item)
