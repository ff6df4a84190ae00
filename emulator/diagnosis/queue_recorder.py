"""The recorder of the AMQP port: it writes down what each client does with queues, as the client sees it.

    client -> note_from_client -> consumers, settlements, publishes   --> records, which rules judge by
    client <- note_to_client   <- deliveries, closed channels             and the trace of a lab, item by item

Memory is bounded: ``MOST_RECORDS`` pairs of a client and a queue in each direction. What is quiet for longest
is forgotten first.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Sequence
from copy import copy
from struct import error
from typing import Final, TypeAlias, TypeVar
from weakref import WeakSet

from emulator.amqp.wire import methods
from emulator.amqp.wire.commands import AckRun, Command
from emulator.amqp.wire.delivery_run import DeliveryRun
from emulator.amqp.wire.field_tables import TEXT, Table
from emulator.clock import Clock, stopwatch
from emulator.diagnosis.clients import Identity, identify_amqp
from emulator.diagnosis.connection_trace import ConnectionTrace
from emulator.diagnosis.lab_trace import OWN_CONNECTION, Trace, WatchedClient
from emulator.diagnosis.queue_records import ACK, ChannelRecord, Owed, ReadingRecord
from emulator.diagnosis.strikes import Strikes
from rdss_sandbox.shapes.events import Event
from rdss_sandbox.shapes.recorded_exchange import Client
from rdss_sandbox.shapes.recorded_queues import BrokenConnection, QueueReading, QueueWriting
from rdss_sandbox.shapes.trace import DISCONNECT, Disposition

MOST_RECORDS: Final = 2_000
RECENT_SECONDS: Final = 1.0

_Key = TypeVar("_Key", bound=Hashable)
_Record = TypeVar("_Record")


class QueueRecorder:
    """The records of all clients of the AMQP port. They are written on the event loop, and read anywhere."""

    def __init__(self, clock: Clock, strikes: Strikes, trace: Trace | None = None) -> None:
        self.clock = clock
        self.strikes = strikes
        self.trace = trace
        self.calls = 0
        self.readings: OrderedDict[tuple[str, str], ReadingRecord] = OrderedDict()
        self.writings: OrderedDict[tuple[str, str], QueueWriting] = OrderedDict()
        self._clients: dict[str, Identity] = {}
        # A connection that is gone must not stay here.
        self._connections: WeakSet[ConnectionRecorder] = WeakSet()

    def watch(self, client: WatchedClient) -> ConnectionRecorder:
        """Record a new connection."""
        connection = ConnectionRecorder(self, client)
        self._connections.add(connection)
        return connection

    def note_event(self, event: Event) -> None:
        """Note a message that no queue took; a subscriber of the event stream."""
        if event.kind != "amqp.unroutable":
            return
        for (_, queue), record in list(self.writings.items()):
            if queue == event.fields["routing_key"] and record.nowhere is None:
                record.nowhere = event.time

    def snapshot(self) -> tuple[tuple[QueueReading, ...], tuple[QueueWriting, ...]]:
        """What was consumed, and what was published."""
        return (
            tuple(each.snapshot() for each in list(self.readings.values())),
            tuple(map(copy, list(self.writings.values()))),
        )

    def list_clients(self) -> list[Client]:
        """Every client that consumed or published, as rules see it. Its calls are messages."""
        messages = [
            (each.client, each.delivered, each.first, each.last) for each in list(self.readings.values())
        ]
        messages += [
            (each.client, each.messages, each.first, each.last) for each in list(self.writings.values())
        ]
        found = []
        for name, identity in list(self._clients.items()):
            own = [each[1:] for each in messages if each[0] == name]
            if own:
                counts, first, last = zip(*own, strict=True)
                found.append(Client(name, *identity, sum(counts), min(first), max(last)))
        return found

    def clear(self) -> None:
        """Forget everything but who is connected."""
        self.readings.clear()
        self.writings.clear()
        for each in list(self._connections):
            each.clear()

    def note_client(self, identity: Identity) -> str:
        """Note who logs in; return the name."""
        if len(self._clients) >= MOST_RECORDS:
            self._clients.pop(next(iter(self._clients)), None)
        self._clients[identity.name] = identity
        return identity.name

    def find_reading(self, client: str, queue: str) -> ReadingRecord:
        return _find(self.readings, (client, queue), lambda: ReadingRecord(client, queue, self.clock.time()))

    def find_writing(self, client: str, queue: str) -> QueueWriting:
        """The record of a client and a queue or exchange that it publishes to."""
        at = self.clock.time()
        return _find(self.writings, (client, queue), lambda: QueueWriting(client, queue, 0, at, at))


def _find(records: OrderedDict[_Key, _Record], key: _Key, make: Callable[[], _Record]) -> _Record:
    found = records.get(key)
    if found is None:
        if len(records) >= MOST_RECORDS:
            records.popitem(last=False)
        found = records[key] = make()
    else:
        records.move_to_end(key)
    return found


_Handler: TypeAlias = Callable[[ChannelRecord, Command], None]


class ConnectionRecorder:
    """Records one connection, and writes it to the recorder's trace where there is one."""

    def __init__(self, recorder: QueueRecorder, watched: WatchedClient) -> None:
        self._recorder = recorder
        self._watched = watched
        self._time = recorder.clock.time
        self._client = ""
        self._trace: ConnectionTrace | None = None
        self._is_ours = False
        self._orderly = False
        self._cut = False
        self._channels: dict[int, ChannelRecord] = {}
        self._writings: dict[tuple[str, str], QueueWriting] = {}
        self._from_client: dict[type | None, _Handler] = {
            methods.BasicQos: self._qos,
            methods.QueueDeclare: self._declare,
            methods.BasicConsume: self._consume,
            **dict.fromkeys((methods.BasicAck, methods.BasicNack, methods.BasicReject), self._settle),
            methods.BasicPublish: self._publish,
        }
        self._to_client: dict[type | None, _Handler] = {
            methods.BasicConsumeOk: self._consume_ok,
            methods.BasicDeliver: self._deliver,
            methods.QueueDeclareOk: self._declare_ok,
            methods.ChannelClose: self._close_channel,
        }

    def note_from_client(self, command: Command) -> None:
        kind = command.kind
        if self._trace is not None and kind is not None:
            if command.times > 1:
                for each in command.split():
                    self.note_from_client(each)
                return
            self._trace.note_command()
        channel = self._channels.get(command.channel)
        try:
            if channel is not None and (handle := self._from_client.get(kind)) is not None:
                handle(channel, command)
                self._recorder.calls += command.times
            elif kind is methods.ChannelOpen and not self._is_ours:
                self._channels[command.channel] = ChannelRecord()
            elif kind is methods.ChannelClose:
                self._drop(command.channel)
            elif kind is methods.ConnectionClose:
                self._orderly = True
                self._drop_all()
            elif kind is methods.ConnectionStartOk:
                self._log_in(command.decode_as(methods.ConnectionStartOk))
        except (ValueError, IndexError, error):
            return  # It cannot be read: the broker refuses it in its own words.

    def note_to_client(self, command: Command) -> None:
        if command.kind is methods.ConnectionClose:
            self._orderly = True
            code = str(command.decode_as(methods.ConnectionClose).reply_code)
            self._fail_reads(self._channels.values(), code)
            self._drop_all(code)
        elif (handle := self._to_client.get(command.kind)) is not None:
            channel = self._channels.get(command.channel)
            if channel is not None:
                handle(channel, command)

    def note_cut(self) -> None:
        self._cut = True

    def note_lost(self) -> None:
        since = stopwatch() - RECENT_SECONDS
        for channel in self._channels.values():
            for record in dict.fromkeys(record for record, no_ack in channel.consumers.values() if no_ack):
                if self._orderly:
                    continue
                record.breaks += 1
                fault = self._recorder.strikes.find_refusing(record.queue, since) if self._cut else ""
                recent = sum(moment >= since for moment in channel.recent)
                if recent:
                    record.broken.append(BrokenConnection(self._time(), recent, fault))
        if self._cut:
            self._fail_reads(self._channels.values(), DISCONNECT)
        self._drop_all()
        if self._trace is not None:
            self._trace.note_lost()

    def clear(self) -> None:
        """Begin new records of what is published from now on."""
        self._writings.clear()

    # What the client asks for

    def _log_in(self, asked: methods.ConnectionStartOk) -> None:
        user = asked.response.decode("utf-8", "replace").lstrip("\0").partition("\0")[0]
        identity = identify_amqp(_read_words(asked.client_properties), user)
        trace = self._recorder.trace
        self._is_ours = trace is not None and identity.application == OWN_CONNECTION
        if self._is_ours:
            return
        self._client = self._recorder.note_client(identity)
        if trace is not None:
            self._begin_trace(ConnectionTrace(trace, self._watched))

    def _begin_trace(self, trace: ConnectionTrace) -> None:
        self._trace = trace
        self._from_client |= {
            methods.BasicGet: self._get,
            methods.ConfirmSelect: _begin_confirming,
        }
        self._to_client |= {
            methods.BasicGetOk: self._get_ok,
            methods.BasicGetEmpty: lambda channel, _: trace.note_empty(channel.gets.popleft()[0].queue),
            methods.BasicAck: trace.note_confirm,
            methods.BasicNack: trace.note_confirm,
            methods.BasicReturn: trace.note_return,
        }

    def _qos(self, channel: ChannelRecord, command: Command) -> None:
        asked = command.decode_as(methods.BasicQos)
        if asked.global_:
            channel.window = asked.prefetch_count
        else:
            channel.prefetch = asked.prefetch_count

    def _declare(self, channel: ChannelRecord, command: Command) -> None:
        channel.declared = command.decode_as(methods.QueueDeclare).queue

    def _consume(self, channel: ChannelRecord, command: Command) -> None:
        asked = command.decode_as(methods.BasicConsume)
        record = self._recorder.find_reading(self._client, _read_name(asked.queue or channel.declared))
        started = record, asked.no_ack
        if asked.consumer_tag:
            channel.consumers[asked.consumer_tag] = started
        # Also one with a tag of its own: there is a consume-ok for each, in the order of requests.
        if not asked.nowait:
            channel.starting.append(started)
        record.channels[channel] = None
        record.no_ack |= asked.no_ack
        # A 0 means no limit.
        limit = min(filter(None, (channel.prefetch, channel.window)), default=0)
        if not asked.no_ack:
            record.prefetch = limit if record.prefetch is None else min(record.prefetch, limit)
        if self._trace is not None:
            self._trace.note_subscription(record.queue, limit, no_ack=asked.no_ack)

    def _get(self, channel: ChannelRecord, command: Command) -> None:
        asked = command.decode_as(methods.BasicGet)
        # Rules judge consumers alone, so no rule sees this record.
        record = ReadingRecord(self._client, _read_name(asked.queue or channel.declared), self._time())
        channel.gets.append((record, asked.no_ack))

    def _settle(self, channel: ChannelRecord, command: Command) -> None:
        settled_by = command.decode()
        assert isinstance(settled_by, methods.BasicAck | methods.BasicNack | methods.BasicReject)
        if isinstance(settled_by, methods.BasicAck):
            disposition = ACK
        else:
            disposition = Disposition.REQUEUE if settled_by.requeue else Disposition.DISCARD
        tag = settled_by.delivery_tag
        tags: Sequence[int] = command.tags if isinstance(command, AckRun) else (tag,)
        if not isinstance(settled_by, methods.BasicReject) and settled_by.multiple:
            tags = [each for each in channel.owed if not tag or each <= tag]
        at = self._time()
        settled = []
        for each in tags:
            if (owed := channel.owed.pop(each, None)) is not None:
                owed.record.note_settled(owed, disposition, at)
                settled.append(owed)
        if self._trace is not None:
            self._trace.note_settlement(disposition, settled)

    def _publish(self, channel: ChannelRecord, command: Command) -> None:
        asked = command.decode_as(methods.BasicPublish)
        key = (asked.exchange, "") if asked.exchange else ("", asked.routing_key)
        record = self._writings.get(key)
        if record is None:
            # A client may publish to any number of keys; the records lie with the recorder.
            if len(self._writings) >= MOST_RECORDS:
                self._writings.clear()
            name = asked.exchange or asked.routing_key
            record = self._writings[key] = self._recorder.find_writing(self._client, _read_name(name))
        record.messages += command.times
        record.last = self._time()
        if self._trace is not None:
            self._trace.note_publish(channel, command)

    # What the client gets

    def _declare_ok(self, channel: ChannelRecord, command: Command) -> None:
        channel.declared = command.decode_as(methods.QueueDeclareOk).queue

    def _consume_ok(self, channel: ChannelRecord, command: Command) -> None:
        if channel.starting:
            tag = command.decode_as(methods.BasicConsumeOk).consumer_tag
            channel.consumers[tag] = channel.starting.popleft()

    def _deliver(self, channel: ChannelRecord, command: Command) -> None:
        delivered = command.decode_as(methods.BasicDeliver)
        if (found := channel.consumers.get(delivered.consumer_tag)) is None:
            return
        record, no_ack = found
        if isinstance(command, DeliveryRun):
            self._deliver_run(channel, command, record, no_ack=no_ack)
            return
        record.delivered += 1
        trace = self._trace
        item = None if trace is None else trace.note_delivery(record.queue, command, owed=not no_ack)
        if no_ack:
            # In real time, in which connections break.
            channel.recent.append(stopwatch())
            return
        owed = Owed(record, self._time(), record.delivered, delivered.redelivered, item)
        channel.owed[delivered.delivery_tag] = owed
        record.in_hand += 1
        record.most_in_hand = max(record.most_in_hand, record.in_hand)

    def _deliver_run(
        self, channel: ChannelRecord, run: DeliveryRun, record: ReadingRecord, *, no_ack: bool
    ) -> None:
        if self._trace is not None:
            for each in run.split():
                self._deliver(channel, each)
            return
        if no_ack:
            record.delivered += run.times
            channel.recent.extend([stopwatch()] * run.times)
            return
        at, number = self._time(), record.delivered
        for tag, message in enumerate(run.messages, run.decode_as(methods.BasicDeliver).delivery_tag):
            number += 1
            channel.owed[tag] = Owed(record, at, number, message.redelivered)
        record.delivered = number
        record.in_hand += run.times
        record.most_in_hand = max(record.most_in_hand, record.in_hand)

    def _get_ok(self, channel: ChannelRecord, command: Command) -> None:
        record, no_ack = channel.gets.popleft()
        assert self._trace is not None
        item = self._trace.note_delivery(record.queue, command, owed=not no_ack, pushed=False)
        if not no_ack:
            owed = Owed(record, self._time(), 1, redelivered=False, item=item)
            channel.owed[command.decode_as(methods.BasicGetOk).delivery_tag] = owed

    def _close_channel(self, channel: ChannelRecord, command: Command) -> None:
        code = str(command.decode_as(methods.ChannelClose).reply_code)
        self._fail_reads((channel,), code)
        self._drop(command.channel, code)

    def _fail_reads(self, channels: Iterable[ChannelRecord], why: str) -> None:
        if self._trace is not None:
            self._trace.note_failed_reads(channels, why)

    def _drop_all(self, why: str = DISCONNECT) -> None:
        for number in tuple(self._channels):
            self._drop(number, why)

    def _drop(self, number: int, why: str = DISCONNECT) -> None:
        """Forget a channel: what it had in hand goes back to the queues."""
        channel = self._channels.pop(number, None)
        if channel is None:
            return
        if self._trace is not None:
            self._trace.note_unanswered(channel, why)
        for owed in channel.owed.values():
            owed.record.in_hand -= 1
        for record, _ in channel.consumers.values():
            record.channels.pop(channel, None)


def _begin_confirming(channel: ChannelRecord, _command: Command) -> None:
    channel.confirming = True


def _read_name(name: str) -> str:
    """A name without what stands for bytes that are not UTF-8."""
    return name.encode(*TEXT).decode("utf-8", "replace")


def _read_words(table: Table) -> dict[str, object]:
    """The values of a table, with its strings as text."""
    values = {name: field.value for name, field in table.items()}
    return {
        name: each.decode("utf-8", "replace") if isinstance(each, bytes) else each
        for name, each in values.items()
    }
