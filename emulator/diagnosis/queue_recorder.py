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
from functools import lru_cache
from struct import Struct, error
from typing import Any, Final, Protocol, TypeAlias, TypeVar
from weakref import WeakSet

from emulator.amqp.wire import methods
from emulator.amqp.wire.field_tables import TEXT, Table
from emulator.amqp.wire.method_codec import decode_method
from emulator.amqp.wire.methods import IDS
from emulator.clock import Clock, stopwatch
from emulator.diagnosis.clients import Identity, identify_amqp
from emulator.diagnosis.connection_trace import ConnectionTrace
from emulator.diagnosis.lab_trace import OWN_CONNECTION, Trace, WatchedClient
from emulator.diagnosis.queue_records import ACK, ChannelRecord, Owed, ReadingRecord
from emulator.diagnosis.strikes import Strikes
from rdss_sandbox.shapes.events import Event
from rdss_sandbox.shapes.recorded_exchange import Client
from rdss_sandbox.shapes.recorded_queues import BrokenConnection, QueueReading, QueueWriting
from rdss_sandbox.shapes.trace import DISCONNECT, Verdict

MOST_RECORDS: Final = 2_000
RECENT_SECONDS: Final = 1.0
_TAG: Final = Struct(">Q")
_START_OK: Final = IDS[methods.ConnectionStartOk]
_CLOSE: Final = IDS[methods.ConnectionClose]
_CHANNEL_OPEN: Final = IDS[methods.ChannelOpen]
_CHANNEL_CLOSE: Final = IDS[methods.ChannelClose]
_DELIVER: Final = IDS[methods.BasicDeliver]
_ACK: Final = IDS[methods.BasicAck]
_REJECT: Final = IDS[methods.BasicReject]
_METHOD_FRAME: Final = 1
_ARGUMENTS: Final = 11
_TICKET_BYTES: Final = 2

_Key = TypeVar("_Key", bound=Hashable)
_Record = TypeVar("_Record")


class RecordedCommand(Protocol):
    """A method with its content, from the client; ``frames`` are as on the wire."""

    channel: int
    frames: list[bytes]

    @property
    def method(self) -> int: ...


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


_Handler: TypeAlias = Callable[[ChannelRecord, Sequence[bytes]], None]


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
        self._writings: dict[tuple[bytes, bytes], QueueWriting] = {}
        self._from_client: dict[int, _Handler] = {
            IDS[methods.BasicQos]: self._qos,
            IDS[methods.QueueDeclare]: self._declare,
            IDS[methods.BasicConsume]: self._consume,
            **dict.fromkeys((_ACK, IDS[methods.BasicNack], _REJECT), self._settle),
            IDS[methods.BasicPublish]: self._publish,
        }
        self._to_client: dict[int, _Handler] = {
            IDS[methods.BasicConsumeOk]: self._consume_ok,
            IDS[methods.QueueDeclareOk]: self._declare_ok,
            _CHANNEL_CLOSE: self._close_channel,
        }

    def note_from_client(self, command: RecordedCommand) -> None:
        if self._trace is not None and command.method:
            self._trace.note_command()
        channel = self._channels.get(command.channel)
        try:
            if channel is not None and (handle := self._from_client.get(command.method)) is not None:
                handle(channel, command.frames)
                self._recorder.calls += 1
            elif command.method == _CHANNEL_OPEN and not self._is_ours:
                self._channels[command.channel] = ChannelRecord()
            elif command.method == _CHANNEL_CLOSE:
                self._drop(command.channel)
            elif command.method == _CLOSE:
                self._orderly = True
                self._drop_all()
            elif command.method == _START_OK:
                self._log_in(_decode(command.frames[0]))
        except (ValueError, IndexError, error):
            return  # It cannot be read: the broker refuses it in its own words.

    def note_to_client(self, frames: Sequence[bytes]) -> None:
        frame = frames[0]
        if frame[0] != _METHOD_FRAME:
            return
        method = int.from_bytes(frame[7:11])
        if method == _DELIVER:
            self._deliver(frames)
        elif method == _CLOSE:
            self._orderly = True
            code = str(_decode(frame).reply_code)
            self._fail_reads(self._channels.values(), code)
            self._drop_all(code)
        elif (handle := self._to_client.get(method)) is not None:
            channel = self._channels.get(int.from_bytes(frame[1:3]))
            if channel is not None:
                handle(channel, frames)

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
            IDS[methods.BasicGet]: self._get,
            IDS[methods.ConfirmSelect]: _begin_confirming,
        }
        self._to_client |= {
            IDS[methods.BasicGetOk]: self._get_ok,
            IDS[methods.BasicGetEmpty]: lambda channel, _: trace.note_empty(channel.gets.popleft()[0].queue),
            IDS[methods.BasicAck]: lambda channel, frames: trace.note_confirm(channel, _decode(frames[0])),
            IDS[methods.BasicNack]: lambda channel, frames: trace.note_confirm(channel, _decode(frames[0])),
            IDS[methods.BasicReturn]: trace.note_return,
        }

    def _qos(self, channel: ChannelRecord, frames: Sequence[bytes]) -> None:
        asked: methods.BasicQos = _decode(frames[0])
        if asked.global_:
            channel.window = asked.prefetch_count
        else:
            channel.prefetch = asked.prefetch_count

    def _declare(self, channel: ChannelRecord, frames: Sequence[bytes]) -> None:
        name = _short_string(frames[0], _ARGUMENTS + _TICKET_BYTES)[0]
        channel.declared = name.decode("utf-8", "replace")

    def _consume(self, channel: ChannelRecord, frames: Sequence[bytes]) -> None:
        asked: methods.BasicConsume = _decode(frames[0])
        record = self._recorder.find_reading(self._client, asked.queue or channel.declared)
        started = record, asked.no_ack
        if asked.consumer_tag:
            channel.consumers[asked.consumer_tag.encode(*TEXT)] = started
        if not asked.nowait:
            channel.starting.append(started)
        record.channels[channel] = None
        record.no_ack |= asked.no_ack
        limit = min(filter(None, (channel.prefetch, channel.window)), default=0)
        if not asked.no_ack:
            record.prefetch = limit if record.prefetch is None else min(record.prefetch, limit)
        if self._trace is not None:
            self._trace.note_subscription(record.queue, limit, no_ack=asked.no_ack)

    def _get(self, channel: ChannelRecord, frames: Sequence[bytes]) -> None:
        asked: methods.BasicGet = _decode(frames[0])
        # Rules judge consumers alone, so no rule sees this record.
        record = ReadingRecord(self._client, asked.queue or channel.declared, self._time())
        channel.gets.append((record, asked.no_ack))

    def _settle(self, channel: ChannelRecord, frames: Sequence[bytes]) -> None:
        frame = frames[0]
        method, flags = int.from_bytes(frame[7:11]), frame[19]
        multiple, requeue = (0, flags & 1) if method == _REJECT else (flags & 1, flags & 2)
        refused = Verdict.REQUEUE if requeue else Verdict.DISCARD
        verdict = ACK if method == _ACK else refused
        tag: int = _TAG.unpack_from(frame, _ARGUMENTS)[0]
        tags = [tag]
        if multiple:
            tags = [each for each in channel.owed if not tag or each <= tag]
        at = self._time()
        settled = []
        for each in tags:
            if (owed := channel.owed.pop(each, None)) is not None:
                owed.record.note_settled(owed, verdict, at)
                settled.append(owed)
        if self._trace is not None:
            self._trace.note_settlement(verdict, settled)

    def _publish(self, channel: ChannelRecord, frames: Sequence[bytes]) -> None:
        key = _read_target(frames[0])
        record = self._writings.get(key)
        if record is None:
            if len(self._writings) >= MOST_RECORDS:
                self._writings.clear()
            name = (key[0] or key[1]).decode("utf-8", "replace")
            record = self._writings[key] = self._recorder.find_writing(self._client, name)
        record.messages += 1
        record.last = self._time()
        if self._trace is not None:
            self._trace.note_publish(channel, frames)

    # What the client gets

    def _declare_ok(self, channel: ChannelRecord, frames: Sequence[bytes]) -> None:
        channel.declared = _decode(frames[0]).queue

    def _consume_ok(self, channel: ChannelRecord, frames: Sequence[bytes]) -> None:
        if channel.starting:
            tag, _ = _short_string(frames[0], _ARGUMENTS)
            channel.consumers[tag] = channel.starting.popleft()

    def _deliver(self, frames: Sequence[bytes]) -> None:
        frame = frames[0]
        channel = self._channels.get(int.from_bytes(frame[1:3]))
        tag, at = _short_string(frame, _ARGUMENTS)
        if channel is None or (found := channel.consumers.get(tag)) is None:
            return
        record, no_ack = found
        record.delivered += 1
        trace = self._trace
        item = None if trace is None else trace.note_delivery(record.queue, frames, owed=not no_ack)
        if no_ack:
            channel.recent.append(stopwatch())
            return
        owed = Owed(record, self._time(), record.delivered, bool(frame[at + 8] & 1), item)
        channel.owed[_TAG.unpack_from(frame, at)[0]] = owed
        record.in_hand += 1
        record.most_in_hand = max(record.most_in_hand, record.in_hand)

    def _get_ok(self, channel: ChannelRecord, frames: Sequence[bytes]) -> None:
        record, no_ack = channel.gets.popleft()
        assert self._trace is not None
        item = self._trace.note_delivery(record.queue, frames, owed=not no_ack, pushed=False)
        if not no_ack:
            owed = Owed(record, self._time(), 1, redelivered=False, item=item)
            channel.owed[_TAG.unpack_from(frames[0], _ARGUMENTS)[0]] = owed

    def _close_channel(self, channel: ChannelRecord, frames: Sequence[bytes]) -> None:
        code = str(_decode(frames[0]).reply_code)
        self._fail_reads((channel,), code)
        self._drop(int.from_bytes(frames[0][1:3]), code)

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


def _begin_confirming(channel: ChannelRecord, _frames: Sequence[bytes]) -> None:
    channel.confirming = True


@lru_cache(maxsize=512)
def _read_target(frame: bytes) -> tuple[bytes, bytes]:
    """The exchange that a publish goes to, or else the routing key."""
    exchange, at = _short_string(frame, _ARGUMENTS + _TICKET_BYTES)
    return (exchange, b"") if exchange else (b"", _short_string(frame, at)[0])


def _short_string(frame: bytes, at: int) -> tuple[bytes, int]:
    end = at + 1 + frame[at]
    return frame[at + 1 : end], end


def _read_words(table: Table) -> dict[str, object]:
    """The values of a table, with its strings as text."""
    values = {name: field.value for name, field in table.items()}
    return {
        name: each.decode("utf-8", "replace") if isinstance(each, bytes) else each
        for name, each in values.items()
    }


def _decode(frame: bytes) -> Any:
    return decode_method(frame[7:-1])
