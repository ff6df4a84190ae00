"""The recorder of the AMQP port: it writes down what each client does with queues, as the client sees it.

Memory is bounded: ``MOST_RECORDS`` pairs of a client and a queue in each direction. What is quiet for longest
is forgotten first.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Sequence
from functools import lru_cache
from struct import Struct
from typing import Any, Final, NamedTuple, Protocol, TypeAlias, TypeVar, cast
from weakref import WeakSet

from pamqp import commands
from pamqp.frame import unmarshal

from emulator.clock import Clock, stopwatch
from emulator.diagnosis.clients import Identity, identify_amqp
from emulator.diagnosis.strikes import Strikes
from rdss_sandbox.shapes.events import Event
from rdss_sandbox.shapes.recorded_exchange import Client
from rdss_sandbox.shapes.recorded_queues import BrokenConnection, QueueReading, QueueWriting

MOST_RECORDS: Final = 2_000
RECENT_SECONDS: Final = 1.0
_MOST_RECENT: Final = 1_000
_MOST_BROKEN: Final = 8
_TAG: Final = Struct(">Q")
_START_OK, _CLOSE = 10 << 16 | 11, 10 << 16 | 50
_CHANNEL_OPEN, _CHANNEL_CLOSE = 20 << 16 | 10, 20 << 16 | 40
_DECLARE, _DECLARE_OK = 50 << 16 | 10, 50 << 16 | 11
_QOS, _CONSUME, _CONSUME_OK = 60 << 16 | 10, 60 << 16 | 20, 60 << 16 | 21
_PUBLISH, _DELIVER = 60 << 16 | 40, 60 << 16 | 60
_ACK, _REJECT, _NACK = 60 << 16 | 80, 60 << 16 | 90, 60 << 16 | 120
_METHOD_FRAME: Final = 1
_ARGUMENTS: Final = 11
_TICKET_BYTES: Final = 2

_Key = TypeVar("_Key", bound=Hashable)
_Record = TypeVar("_Record")


class Command(Protocol):
    """A method with its content, from the client; ``frames`` are as on the wire."""

    channel: int
    method: int
    frames: list[bytes]


class ReadingRecord:
    """What one client consumes of one queue."""

    def __init__(self, client: str, queue: str, at: float) -> None:
        self.client = client
        self.queue = queue
        self.first = self.last = at
        self.no_ack = False
        self.prefetch: int | None = None
        self.delivered = self.acked = self.requeued = self.discarded = 0
        self.in_hand = self.most_in_hand = 0
        self.row = self.longest_row = self.breaks = self._row_mark = 0
        self.row_at = at
        self.broken: deque[BrokenConnection] = deque(maxlen=_MOST_BROKEN)
        self.channels: dict[_Channel, None] = {}

    def note_settled(self, owed: _Owed, *, requeued: bool, acked: bool, at: float) -> None:
        """Note that the client settled a delivery."""
        self.in_hand -= 1
        self.last = at
        if not requeued:
            self.row = 0
            self.acked += acked
            self.discarded += not acked
            return
        self.requeued += 1
        # A client that ends gives back all that it has. In a loop each is of what came since the last.
        if owed.redelivered and owed.number > self._row_mark:
            self.row += 1
            self._row_mark = self.delivered
            if self.row > self.longest_row:
                self.longest_row, self.row_at = self.row, at

    def snapshot(self) -> QueueReading:
        owed = [each for channel in list(self.channels) for each in list(channel.owed.values())]
        oldest = min((each.at for each in owed if each.record is self), default=None)
        return QueueReading(
            self.client,
            self.queue,
            self.no_ack,
            self.prefetch or 0,
            self.first,
            self.last,
            self.delivered,
            self.acked,
            self.requeued,
            self.discarded,
            self.most_in_hand,
            self.in_hand,
            oldest,
            self.longest_row,
            self.row_at,
            self.breaks,
            tuple(self.broken),
        )


class _Owed(NamedTuple):
    """A delivery to acknowledge: the ``number``-th one of its record."""

    record: ReadingRecord
    at: float
    number: int
    redelivered: bool


class WritingRecord:
    """What one client publishes to one queue, or to an exchange."""

    def __init__(self, client: str, queue: str, at: float) -> None:
        self.client = client
        self.queue = queue
        self.first = self.last = at
        self.messages = 0
        self.nowhere: float | None = None

    def snapshot(self) -> QueueWriting:
        return QueueWriting(self.client, self.queue, self.messages, self.first, self.last, self.nowhere)


class QueueRecorder:
    """The records of all clients of the AMQP port. They are written on the event loop, and read anywhere."""

    def __init__(self, clock: Clock, strikes: Strikes) -> None:
        self.clock = clock
        self.strikes = strikes
        self.calls = 0
        self.readings: OrderedDict[tuple[str, str], ReadingRecord] = OrderedDict()
        self.writings: OrderedDict[tuple[str, str], WritingRecord] = OrderedDict()
        self._clients: dict[str, Identity] = {}
        self._connections: WeakSet[ConnectionRecorder] = WeakSet()

    def watch(self, _client: object) -> ConnectionRecorder:
        """Record a new connection."""
        connection = ConnectionRecorder(self)
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
            tuple(each.snapshot() for each in list(self.writings.values())),
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
        """The record of a client and a queue that it consumes."""
        return _find(self.readings, (client, queue), lambda: ReadingRecord(client, queue, self.clock.time()))

    def find_writing(self, client: str, queue: str) -> WritingRecord:
        """The record of a client and a queue or exchange that it publishes to."""
        return _find(self.writings, (client, queue), lambda: WritingRecord(client, queue, self.clock.time()))


def _find(records: OrderedDict[_Key, _Record], key: _Key, make: Callable[[], _Record]) -> _Record:
    found = records.get(key)
    if found is None:
        if len(records) >= MOST_RECORDS:
            records.popitem(last=False)
        found = records[key] = make()
    else:
        records.move_to_end(key)
    return found


class _Channel:
    """What is kept of a channel; ``owed`` has what is to be acknowledged, by delivery tag."""

    def __init__(self) -> None:
        self.prefetch = self.window = 0
        self.declared = ""
        self.starting: deque[tuple[ReadingRecord, bool]] = deque()
        self.consumers: dict[bytes, tuple[ReadingRecord, bool]] = {}
        self.owed: dict[int, _Owed] = {}
        self.recent: deque[float] = deque(maxlen=_MOST_RECENT)


_Handler: TypeAlias = Callable[[_Channel, bytes], None]


class ConnectionRecorder:
    """Records one connection."""

    def __init__(self, recorder: QueueRecorder) -> None:
        self._recorder = recorder
        self._time = recorder.clock.time
        self._client = ""
        self._orderly = False
        self._cut = False
        self._channels: dict[int, _Channel] = {}
        self._writings: dict[tuple[bytes, bytes], WritingRecord] = {}
        self._from_client: dict[int, _Handler] = {
            _QOS: self._qos,
            _DECLARE: self._declare,
            _CONSUME: self._consume,
            _ACK: self._ack,
            _NACK: self._nack,
            _REJECT: self._reject,
            _PUBLISH: self._publish,
        }

    def note_from_client(self, command: Command) -> None:
        channel = self._channels.get(command.channel)
        if channel is not None and (handle := self._from_client.get(command.method)) is not None:
            handle(channel, command.frames[0])
            self._recorder.calls += 1
        elif command.method == _CHANNEL_OPEN:
            self._channels[command.channel] = _Channel()
        elif command.method == _CHANNEL_CLOSE:
            self._drop(command.channel)
        elif command.method == _CLOSE:
            self._orderly = True
        elif command.method == _START_OK:
            asked: commands.Connection.StartOk = _decode(command.frames[0])
            user = str(asked.response or "").lstrip("\0").partition("\0")[0]
            self._client = self._recorder.note_client(identify_amqp(asked.client_properties or {}, user))

    def note_to_client(self, frames: Sequence[bytes]) -> None:
        frame = frames[0]
        if frame[0] != _METHOD_FRAME:
            return
        method = int.from_bytes(frame[7:11])
        if method == _DELIVER:
            self._deliver(frame)
        elif method == _CLOSE:
            self._orderly = True
        elif method in {_CONSUME_OK, _DECLARE_OK}:
            channel = self._channels.get(int.from_bytes(frame[1:3]))
            if channel is not None and method == _DECLARE_OK:
                channel.declared = _decode(frame).queue
            elif channel is not None and channel.starting:
                tag, _ = _short_string(frame, _ARGUMENTS)
                channel.consumers[tag] = channel.starting.popleft()
        elif method == _CHANNEL_CLOSE:
            self._drop(int.from_bytes(frame[1:3]))

    def note_cut(self) -> None:
        self._cut = True

    def note_lost(self) -> None:
        since = stopwatch() - RECENT_SECONDS
        for number, channel in tuple(self._channels.items()):
            for record in dict.fromkeys(record for record, no_ack in channel.consumers.values() if no_ack):
                if self._orderly:
                    continue
                record.breaks += 1
                fault = self._recorder.strikes.find_refusing(record.queue, since) if self._cut else ""
                recent = sum(moment >= since for moment in channel.recent)
                if recent:
                    record.broken.append(BrokenConnection(self._time(), recent, fault))
            self._drop(number)

    def clear(self) -> None:
        """Begin new records of what is published from now on."""
        self._writings.clear()

    # What the client asks for

    def _qos(self, channel: _Channel, frame: bytes) -> None:
        asked: commands.Basic.Qos = _decode(frame)
        if asked.global_:
            channel.window = asked.prefetch_count
        else:
            channel.prefetch = asked.prefetch_count

    def _declare(self, channel: _Channel, frame: bytes) -> None:
        channel.declared = _short_string(frame, _ARGUMENTS + _TICKET_BYTES)[0].decode("utf-8", "replace")

    def _consume(self, channel: _Channel, frame: bytes) -> None:
        asked: commands.Basic.Consume = _decode(frame)
        record = self._recorder.find_reading(self._client, asked.queue or channel.declared)
        started = record, bool(asked.no_ack)
        if asked.consumer_tag:
            channel.consumers[asked.consumer_tag.encode()] = started
        if not asked.nowait:
            channel.starting.append(started)
        record.channels[channel] = None
        record.no_ack |= bool(asked.no_ack)
        if not asked.no_ack:
            limit = min(filter(None, (channel.prefetch, channel.window)), default=0)
            record.prefetch = limit if record.prefetch is None else min(record.prefetch, limit)

    def _ack(self, channel: _Channel, frame: bytes) -> None:
        self._settle(channel, frame, multiple=bool(frame[19] & 1), requeued=False, acked=True)

    def _nack(self, channel: _Channel, frame: bytes) -> None:
        self._settle(channel, frame, multiple=bool(frame[19] & 1), requeued=bool(frame[19] & 2), acked=False)

    def _reject(self, channel: _Channel, frame: bytes) -> None:
        self._settle(channel, frame, multiple=False, requeued=bool(frame[19] & 1), acked=False)

    def _settle(
        self, channel: _Channel, frame: bytes, *, multiple: bool, requeued: bool, acked: bool
    ) -> None:
        tag: int = _TAG.unpack_from(frame, _ARGUMENTS)[0]
        tags = [tag]
        if multiple:
            tags = [each for each in channel.owed if not tag or each <= tag]
        at = self._time()
        for each in tags:
            if (owed := channel.owed.pop(each, None)) is not None:
                owed.record.note_settled(owed, requeued=requeued, acked=acked, at=at)

    def _publish(self, _channel: _Channel, frame: bytes) -> None:
        key = _read_target(frame)
        record = self._writings.get(key)
        if record is None:
            if len(self._writings) >= MOST_RECORDS:
                self._writings.clear()
            name = (key[0] or key[1]).decode("utf-8", "replace")
            record = self._writings[key] = self._recorder.find_writing(self._client, name)
        record.messages += 1
        record.last = self._time()

    # What the client gets

    def _deliver(self, frame: bytes) -> None:
        channel = self._channels.get(int.from_bytes(frame[1:3]))
        tag, at = _short_string(frame, _ARGUMENTS)
        if channel is None or (found := channel.consumers.get(tag)) is None:
            return
        record, no_ack = found
        record.delivered += 1
        if no_ack:
            channel.recent.append(stopwatch())
            return
        owed = _Owed(record, self._time(), record.delivered, bool(frame[at + 8] & 1))
        channel.owed[_TAG.unpack_from(frame, at)[0]] = owed
        record.in_hand += 1
        record.most_in_hand = max(record.most_in_hand, record.in_hand)

    def _drop(self, number: int) -> None:
        """Forget a channel: what it had in hand goes back to the queues."""
        channel = self._channels.pop(number, None)
        if channel is None:
            return
        for owed in channel.owed.values():
            owed.record.in_hand -= 1
        for record, _ in channel.consumers.values():
            record.channels.pop(channel, None)


@lru_cache(maxsize=512)
def _read_target(frame: bytes) -> tuple[bytes, bytes]:
    """The exchange that a publish goes to, or else the routing key."""
    exchange, at = _short_string(frame, _ARGUMENTS + _TICKET_BYTES)
    return (exchange, b"") if exchange else (b"", _short_string(frame, at)[0])


def _short_string(frame: bytes, at: int) -> tuple[bytes, int]:
    end = at + 1 + frame[at]
    return frame[at + 1 : end], end


def _decode(frame: bytes) -> Any:
    return cast("Any", unmarshal(frame)[2])
