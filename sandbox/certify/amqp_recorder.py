"""The recorder of the AMQP port: it writes down what a client consumes, settles and publishes, as it sees it.

client -> note_from_client -> subscriptions, settlements, publishes that wait for their confirm
client <- note_to_client   <- deliveries, confirms, returns, and channels that are closed
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final, NamedTuple, Protocol, cast

from pamqp import commands
from pamqp.header import ContentHeader

from emulator.relay.amqp.frames import Command, Method, decode_frame
from emulator.relay.amqp.watching import WatchedClient
from sandbox.certify.exchange import (
    Delivery,
    Exchange,
    Put,
    PutEntry,
    Read,
    Settlement,
    Subscription,
    Verdict,
)
from sandbox.certify.gate import PUTS, Gate
from schemas.peek import peek

KIT_CONNECTION: Final = "sandbox certify"
"""The ``connection_name`` of the kit's own connection, which is not recorded."""
DISCONNECT: Final = "disconnect"
_HELD: Final = "the kit holds it up"
_PERSISTENT: Final = 2
_METHOD_FRAME: Final = 1


class _Owed(NamedTuple):
    """A delivery that has to be acknowledged."""

    queue: str
    delivery: Delivery


@dataclass(slots=True)
class _Publish:
    """A publish that waits for its confirm."""

    asked: float
    queue: str
    entry: PutEntry
    data: bytes
    persistent: bool
    mandatory: bool
    returned: bool = False


@dataclass(slots=True)
class _Channel:
    """What the recorder keeps of a channel. ``gets`` are those that wait for their answer."""

    prefetch: int = 0
    window: int = 0
    declared: str = ""
    confirming: bool = False
    published: int = 0
    consumers: dict[str, tuple[str, bool]] = field(default_factory=dict)
    starting: deque[tuple[str, bool]] = field(default_factory=deque)
    gets: deque[tuple[str, bool]] = field(default_factory=deque)
    owed: OrderedDict[int, _Owed] = field(default_factory=OrderedDict)
    waiting: OrderedDict[int, _Publish] = field(default_factory=OrderedDict)


class Notebook(Protocol):
    """Where the recorder writes. ``now`` is the time in the run, ``life`` the present start of the client.

    While the gate is closed to puts, no command of the client's is read. ``listen`` takes note of what the
    client has told; it is called before anything that the client did is noted.
    """

    gate: Gate
    life: int
    listen: Callable[[], None]

    @property
    def now(self) -> float: ...
    def note_exchange(self, exchange: Exchange) -> None: ...
    def note_accepted(self, queue: str, data: bytes) -> None:
        """Note the body of a publish that the broker took."""

    def note_connection(self, *, opened: bool) -> None:
        """Note that a connection of the client's was opened, or is gone."""


class ConnectionRecorder:
    """Watches one connection, which belongs to the start of the client during which it was opened."""

    def __init__(self, notebook: Notebook, client: WatchedClient) -> None:
        self._notebook = notebook
        self._client = client
        self._life = notebook.life
        self._kits = False
        self._cut = False
        self._open = False
        self._channels: dict[int, _Channel] = {}
        self._from_client: dict[int, Callable[[_Channel, Command], None]] = {
            Method.QOS: self._qos,
            Method.QUEUE_DECLARE: self._declare,
            Method.CONSUME: self._consume,
            Method.GET: self._get,
            Method.ACK: self._settle,
            Method.NACK: self._settle,
            Method.REJECT: self._settle,
            Method.PUBLISH: self._publish,
            Method.CONFIRM_SELECT: self._confirm_select,
        }
        self._to_client: dict[int, Callable[[_Channel, Any, Sequence[bytes]], None]] = {
            Method.QUEUE_DECLARE_OK: self._declare_ok,
            Method.CONSUME_OK: self._consume_ok,
            Method.DELIVER: self._deliver,
            Method.GET_OK: self._get_ok,
            Method.GET_EMPTY: self._get_empty,
            Method.ACK: self._confirm,
            Method.NACK: self._confirm,
            Method.RETURN: self._return,
            Method.CHANNEL_CLOSE: self._channel_closed,
        }

    # The watcher

    def note_from_client(self, command: Command) -> None:
        if command.method == Method.START_OK:
            asked = cast("commands.Connection.StartOk", decode_frame(command.frames[0]))
            self._kits = (asked.client_properties or {}).get("connection_name") == KIT_CONNECTION
            if not self._kits:
                self._open = True
                self._notebook.note_connection(opened=True)
        elif command.method == Method.CHANNEL_OPEN:
            self._channels[command.channel] = _Channel()
        elif command.method == Method.CHANNEL_CLOSE:
            self._drop(command.channel, DISCONNECT)
        elif command.method == Method.CONNECTION_CLOSE:
            self._drop_all(DISCONNECT)
        elif not self._kits and (channel := self._channels.get(command.channel)) is not None:
            handle = self._from_client.get(command.method)
            if handle is not None:
                self._notebook.listen()
                handle(channel, command)

    def note_to_client(self, frames: Sequence[bytes]) -> None:
        if self._kits or frames[0][0] != _METHOD_FRAME:
            return
        number = int.from_bytes(frames[0][1:3])
        method = int.from_bytes(frames[0][7:11])
        if method == Method.CONNECTION_CLOSE:
            closed = cast("commands.Connection.Close", decode_frame(frames[0]))
            self._fail_reads(self._channels.values(), str(closed.reply_code))
            self._drop_all(str(closed.reply_code))
        elif (channel := self._channels.get(number)) is not None:
            handle = self._to_client.get(method)
            if handle is not None:
                handle(channel, decode_frame(frames[0]), frames)

    def note_cut(self) -> None:
        self._cut = True

    def note_lost(self) -> None:
        if not self._open:
            return
        self._notebook.listen()
        if self._cut:
            self._fail_reads(self._channels.values(), DISCONNECT)
        self._drop_all(DISCONNECT)
        self._notebook.note_connection(opened=False)

    # What the client asks for

    def _qos(self, channel: _Channel, command: Command) -> None:
        asked = cast("commands.Basic.Qos", decode_frame(command.frames[0]))
        if asked.global_:
            channel.window = asked.prefetch_count
        else:
            channel.prefetch = asked.prefetch_count

    def _declare(self, channel: _Channel, command: Command) -> None:
        channel.declared = cast("commands.Queue.Declare", decode_frame(command.frames[0])).queue

    def _consume(self, channel: _Channel, command: Command) -> None:
        asked = cast("commands.Basic.Consume", decode_frame(command.frames[0]))
        queue, no_ack = asked.queue or channel.declared, bool(asked.no_ack)
        if asked.consumer_tag:
            channel.consumers[asked.consumer_tag] = queue, no_ack
        if not asked.nowait:
            channel.starting.append((queue, no_ack))
        prefetch = min(filter(None, (channel.prefetch, channel.window)), default=0)
        self._note(Subscription(self._notebook.now, self._life, queue, prefetch, no_ack))

    def _get(self, channel: _Channel, command: Command) -> None:
        asked = cast("commands.Basic.Get", decode_frame(command.frames[0]))
        channel.gets.append((asked.queue or channel.declared, bool(asked.no_ack)))

    def _settle(self, channel: _Channel, command: Command) -> None:
        asked: Any = decode_frame(command.frames[0])
        multiple = command.method != Method.REJECT and asked.multiple
        tags = [asked.delivery_tag]
        if multiple:
            tags = [tag for tag in channel.owed if not asked.delivery_tag or tag <= asked.delivery_tag]
        settled = [owed for tag in tags if (owed := channel.owed.pop(tag, None)) is not None]
        verdict = Verdict.ACK
        if command.method != Method.ACK:
            verdict = Verdict.REQUEUE if asked.requeue else Verdict.DISCARD
        for queue in dict.fromkeys(owed.queue for owed in settled):
            records = tuple(owed.delivery for owed in settled if owed.queue == queue)
            self._note(Settlement(self._notebook.now, self._life, queue, verdict, records))

    def _confirm_select(self, channel: _Channel, _command: Command) -> None:
        channel.confirming = True

    def _publish(self, channel: _Channel, command: Command) -> None:
        asked = cast("commands.Basic.Publish", decode_frame(command.frames[0]))
        properties = _properties(command.frames)
        data = command.body
        digest = sha256(data).hexdigest()
        entry = PutEntry(peek(data).message_id, digest, len(data), asked.routing_key)
        persistent = properties.delivery_mode == _PERSISTENT
        queue = asked.exchange or asked.routing_key
        publish = _Publish(
            self._notebook.now, queue, entry, data, persistent=persistent, mandatory=bool(asked.mandatory)
        )
        if channel.confirming:
            channel.published += 1
            channel.waiting[channel.published] = publish
        else:
            self._note_put(publish, "", confirmed=False)

    # What the client gets

    def _declare_ok(self, channel: _Channel, told: Any, _frames: Sequence[bytes]) -> None:
        channel.declared = told.queue

    def _consume_ok(self, channel: _Channel, told: Any, _frames: Sequence[bytes]) -> None:
        if channel.starting:
            channel.consumers[told.consumer_tag] = channel.starting.popleft()

    def _deliver(self, channel: _Channel, told: Any, frames: Sequence[bytes]) -> None:
        queue, no_ack = channel.consumers.get(told.consumer_tag, ("", False))
        self._hand_over(channel, queue, told.delivery_tag, frames, owed=not no_ack)

    def _get_ok(self, channel: _Channel, told: Any, frames: Sequence[bytes]) -> None:
        queue, no_ack = channel.gets.popleft() if channel.gets else ("", False)
        self._hand_over(channel, queue, told.delivery_tag, frames, owed=not no_ack, pushed=False)

    def _get_empty(self, channel: _Channel, _told: Any, _frames: Sequence[bytes]) -> None:
        if channel.gets:
            queue, _ = channel.gets.popleft()
            self._note(Read(self._notebook.now, self._life, queue, queue))

    def _confirm(self, channel: _Channel, told: Any, _frames: Sequence[bytes]) -> None:
        tags = [told.delivery_tag]
        if told.multiple:
            tags = [tag for tag in channel.waiting if not told.delivery_tag or tag <= told.delivery_tag]
        self._notebook.listen()
        for tag in tags:
            if (publish := channel.waiting.pop(tag, None)) is not None:
                error = "nack" if isinstance(told, commands.Basic.Nack) else ""
                self._note_put(publish, "returned" if publish.returned else error)

    def _return(self, channel: _Channel, _told: Any, _frames: Sequence[bytes]) -> None:
        # A broker returns a message before it confirms it, and confirms in the order of the publishes.
        for publish in channel.waiting.values():
            if not publish.returned:
                publish.returned = True
                return

    def _channel_closed(self, channel: _Channel, told: Any, _frames: Sequence[bytes]) -> None:
        number = next(number for number, each in self._channels.items() if each is channel)
        self._fail_reads((channel,), str(told.reply_code))
        self._drop(number, str(told.reply_code))

    # Inside

    def _hand_over(
        self,
        channel: _Channel,
        queue: str,
        tag: int,
        frames: Sequence[bytes],
        *,
        owed: bool,
        pushed: bool = True,
    ) -> None:
        body = b"".join(frame[7:-1] for frame in frames[2:])
        delivery = Delivery(_properties(frames).message_id or "", peek(body).message_id)
        if owed:
            channel.owed[tag] = _Owed(queue, delivery)
        self._note(
            Read(self._notebook.now, self._life, queue, queue, "", (delivery,), pushed=pushed, owed=owed)
        )

    def _fail_reads(self, channels: Iterable[_Channel], error: str) -> None:
        """Note for each queue that is consumed that its deliveries end."""
        queues = {queue: None for channel in channels for queue, _ in channel.consumers.values()}
        for queue in queues:
            self._note(Read(self._notebook.now, self._life, queue, queue, pushed=True, error=error))

    def _drop_all(self, error: str) -> None:
        for number in tuple(self._channels):
            self._drop(number, error)

    def _drop(self, number: int, error: str) -> None:
        """Forget a channel; its publishes get no answer any more."""
        channel = self._channels.pop(number, None)
        if channel is not None and not self._kits:
            for publish in channel.waiting.values():
                self._note_put(publish, error)

    def _note_put(self, publish: _Publish, error: str, *, confirmed: bool = True) -> None:
        notebook = self._notebook
        if not error:
            notebook.note_accepted(publish.queue, publish.data)
        put = Put(
            publish.asked,
            notebook.now,
            self._life,
            publish.queue,
            (publish.entry,),
            error=error,
            confirmed=confirmed,
            persistent=publish.persistent,
            mandatory=publish.mandatory,
        )
        self._note(put)
        if notebook.gate.is_closed(PUTS):
            self._client.pause_reading(_HELD)
            notebook.gate.when_open(PUTS, lambda: self._client.resume_reading(_HELD))

    def _note(self, exchange: Exchange) -> None:
        self._notebook.note_exchange(exchange)


def _properties(frames: Sequence[bytes]) -> commands.Basic.Properties:
    return cast("ContentHeader", decode_frame(frames[1])).properties
