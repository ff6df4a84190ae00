"""One relayed connection: a client, a broker, and their channels.

    client socket -> Peer -> Session -> AmqpChannel -> Publishes  -> End of the broker
    client socket <- Peer <- Session <- Deliveries <- AmqpChannel <- End of the broker

The broker's end is a Peer with a socket, or OwnBroker, which takes commands as they are. Those of channel 0
stay in the session. Bytes that are not AMQP 0-9-1 pass unread.
"""

from __future__ import annotations

import asyncio
import struct
import traceback
from collections.abc import Callable, Coroutine
from typing import Any, Final

from emulator.amqp.refusals import RefusedError, shorten
from emulator.amqp.wire.commands import (
    GREETING,
    GREETINGS,
    Command,
    CommandReader,
    TooMuchError,
    build_command,
)
from emulator.amqp.wire.field_tables import BadTableError, plain_table
from emulator.amqp.wire.frames import BEAT
from emulator.amqp.wire.method_codec import TruncatedMethodError, UnknownMethodError
from emulator.amqp.wire.methods import (
    ChannelClose,
    ChannelCloseOk,
    ChannelOpen,
    ConnectionBlocked,
    ConnectionClose,
    ConnectionCloseOk,
    ConnectionStartOk,
    ConnectionTuneOk,
    ConnectionUnblocked,
)
from emulator.clock import Clock
from emulator.events import Events
from emulator.faults.fault_engine import FaultEngine
from emulator.http.bounds.allowance import Allowance
from emulator.http.bounds.client_limits import USUAL, Limits
from emulator.http.bounds.turns import Inflow, Turns
from emulator.relay.amqp.amqp_tap import REFUSALS, Tap
from emulator.relay.amqp.channel_link import ChannelLink, RelayContext
from emulator.relay.amqp.delivering import Deliveries
from emulator.relay.amqp.ends import ArrivingContents, End, Peer
from emulator.relay.amqp.entry import Entry
from emulator.relay.amqp.publishing import Publishes
from emulator.relay.amqp.watching import Watch

MOST_HELD: Final = 16 * 1024 * 1024
"""Bytes that faults may hold back in one direction of a connection before reading is paused."""
_HELD: Final = "enough is held back"
_CONNECTING: Final = "the broker does not answer yet"
_FAREWELL_SECONDS: Final = 5.0
_CLOSING: Final = frozenset({ChannelClose, ChannelCloseOk})
_UNREADABLE: Final = (UnknownMethodError, TruncatedMethodError, RefusedError, BadTableError, struct.error)


class Session:
    """Both peers of a connection and its channels. When one peer leaves, the other is closed.

    With an ``entry`` that is the only way nothing passes but AMQP 0-9-1 of a client that logs in by it.
    """

    def __init__(
        self,
        fault_engine: FaultEngine,
        clock: Clock,
        events: Events,
        tap: Tap,
        ended: Callable[[Session], None],
        *,
        build_broker: Callable[..., End],
        turns: Turns,
        limits: Limits = USUAL,
        entry: Entry | None = None,
        watch: Watch | None = None,
    ) -> None:
        self._events = events
        self._tap = tap
        self._ended = ended
        self._entry = entry
        self._context = RelayContext(fault_engine, clock, self)
        self._channels: dict[int, AmqpChannel] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._closing: list[Command] = []
        self._client_left = False
        self._closing_client = False
        # The broker closes the connection: what the client says on channels goes nowhere any more.
        self._refused = False
        self._supports_blocked = False
        self._blocked = 0
        self.is_gathering = False
        self._held = {"client": 0, "broker": 0}
        self._heartbeat = 0
        self._keeping_alive: asyncio.TimerHandle | None = None
        self.frame_max = 0
        self._heartbeats = Allowance(limits.heartbeats)
        arriving = ArrivingContents(limits.content_bytes)
        self.client = Peer(self, turns, CommandReader(0, limits.frame_bytes, arriving.count))
        self.broker = build_broker(
            self, self.client, turns, before_write=tap.write_persistent, after_write=tap.write_records
        )
        self.client.other = self.broker
        self._watcher = self.client.watcher = watch(self.client) if watch is not None else None
        self.client.pause_reading(_CONNECTING)

    async def connect(self) -> None:
        """Connect to the broker, and let the client speak. Raises OSError."""
        await self.broker.connect()
        self.client.resume_reading(_CONNECTING)

    # Called by the ends

    def on_input(self, end: End, work: Callable[[], None], inflow: Inflow | None = None) -> None:
        """Process input, and write at once what comes of it if that is all there is.

        A broker in this process answers while it is written to. With more input to come, everything is
        written in the next turn of the event loop, together with what comes of that. What is recorded of
        transient messages, which a death of the sandbox takes anyway, is written when the client has its
        answer.
        """
        if self.is_gathering:
            work()
            return
        self.is_gathering = True
        try:
            work()
            if inflow is None or not inflow.held:
                if end is self.client:
                    self.broker.flush()
                self.client.flush()
        finally:
            self.is_gathering = False
            for each in (self.broker, self.client):
                if each.has_unsent:
                    each.flush_soon()
            if not self.broker.has_unsent:
                self._tap.write_records()

    def on_greeting(self, peer: End, data: bytes) -> int | None:
        """Forward the client's protocol header; after a header other than 0-9-1, everything passes unread."""
        header = data[: len(GREETING)]
        if peer is self.client and header in GREETINGS:
            self.broker.send_bytes(header)
            return len(header)
        if len(header) < len(GREETING) and any(each.startswith(header) for each in GREETINGS):
            return None
        if peer is self.client or header.startswith(b"AMQP"):
            self.pass_raw()
        return 0

    def on_too_much(self, error: TooMuchError) -> None:
        self.close_connection(error.code, str(error))

    def pass_raw(self) -> None:
        if self._entry is not None and self._entry.is_only_way:
            # As a broker does that does not speak the client's protocol (section 4.2.2). What the client
            # sends now goes to a connection that is closed.
            self.broker.abort()
            self.client.send_bytes(GREETING)
            self.client.close()
        self.client.is_raw = self.broker.is_raw = True

    def on_commands(self, peer: End, received: list[Command]) -> None:
        for command in received:
            try:
                self._on_command(peer, command)
            except _UNREADABLE:
                # It is no frame, or its arguments cannot be read. The broker refuses it in its own words.
                peer.other.send_unreadable(command)

    def _on_command(self, peer: End, command: Command) -> None:
        from_client = peer is self.client
        if command.refused is not None:
            raise command.refused
        if from_client and self._refused and command.channel:
            return
        if from_client and self._watcher is not None:
            self._watcher.note_from_client(command)
        if self._closing_client:
            if command.kind is ConnectionCloseOk:
                self.client.close()
        elif command.channel == 0:
            self._on_connection(peer, command)
        elif command.kind is ChannelOpen and from_client:
            self._channels[command.channel] = AmqpChannel(
                self._context, command.channel, self._forward_close_if_idle, self._tap
            )
            self.broker.send(command)
        elif channel := self._channels.get(command.channel):
            (channel.from_client if from_client else channel.from_broker)(command)
            if command.kind in _CLOSING and channel.is_over:
                # What is sent there now is between the peers: a broker closes the connection for it.
                del self._channels[command.channel]
        else:
            peer.other.send(command)

    def on_lost(self, peer: End) -> None:
        if peer is self.client:
            if self._watcher is not None:
                self._watcher.note_lost()
            self._client_left = True
            if not self._busy or self._blocked:
                self.broker.close()
        elif not self._closing_client:
            self.client.close()
        if self.client.gone and (self.broker.gone or not self.broker.was_connected):
            self._drop_channels()
            for task in tuple(self._tasks):
                task.cancel()
            if self._keeping_alive is not None:
                self._keeping_alive.cancel()
            self._ended(self)

    def _on_connection(self, peer: End, command: Command) -> None:
        if command.kind is ConnectionStartOk:
            asked = command.decode_as(ConnectionStartOk)
            if self._entry is not None and peer is self.client:
                command = build_command(0, self._entry.exchanged(asked))
            capabilities = plain_table(asked.client_properties).get("capabilities")
            known = capabilities if isinstance(capabilities, dict) else {}
            self._supports_blocked = bool(known.get("connection.blocked"))
        elif command.kind is ConnectionTuneOk:
            tuned = command.decode_as(ConnectionTuneOk)
            self.frame_max, self._heartbeat = tuned.frame_max, tuned.heartbeat
            self.client.reader.limit_frames(tuned.frame_max)
        elif command.kind is ConnectionClose and peer is self.client and self._busy:
            self._closing.append(command)
            return
        elif command.kind is ConnectionClose and peer is self.broker:
            self._refused = True
        elif command.frames[0] == BEAT and peer is self.client and not self._heartbeats.spend():
            self.close_connection(501, "too many heartbeats")
            return
        peer.other.send(command)

    @property
    def _busy(self) -> bool:
        return any(channel.busy for channel in self._channels.values())

    def _forward_close_if_idle(self) -> None:
        """Forward the client's close, which waited for commands on other channels, if none waits any more."""
        if self._busy:
            return
        for command in self._closing:
            self.broker.send(command)
        self._closing.clear()
        if self._client_left:
            self.broker.close()

    # Called by the channels

    def to_client(self, command: Command) -> None:
        self.client.send(command)

    def to_broker(self, command: Command) -> None:
        self.broker.send(command)

    def cut(self) -> None:
        """Cut the client's connection; what was sent to the broker stays sent."""
        if self._watcher is not None:
            self._watcher.note_cut()
        self.broker.close()
        self.client.abort()

    def close_connection(self, code: int, text: str) -> None:
        """Close the client's connection with a reply code, and the broker's without one."""
        self.client.send(build_command(0, ConnectionClose(code, shorten(text), 0, 0)))
        self._closing_client = True
        self._drop_channels()
        self.broker.close()
        asyncio.get_running_loop().call_later(_FAREWELL_SECONDS, self.client.close)

    def block(self) -> None:
        """Send connection.blocked to a client that supports it."""
        self._blocked += 1
        if self._blocked == 1 and self._supports_blocked:
            self.client.send(build_command(0, ConnectionBlocked("throttled by a fault")))

    def unblock(self) -> None:
        self._blocked -= 1
        if not self._blocked and self._supports_blocked and not self.client.gone:
            self.client.send(build_command(0, ConnectionUnblocked()))

    def count_held_for_client(self, size: int) -> None:
        self._hold("client", self.broker, size)

    def count_held_for_broker(self, size: int) -> None:
        self._hold("broker", self.client, size)

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._on_task_done)
        return task

    def drop(self) -> None:
        """Cut both connections at once."""
        self.client.abort()
        self.broker.abort()

    def _hold(self, kept_for: str, source: End, size: int) -> None:
        self._held[kept_for] += size
        if self._held[kept_for] > MOST_HELD:
            source.pause_reading(_HELD)
            self._keep_alive()
        elif self._held[kept_for] < MOST_HELD // 2:
            source.resume_reading(_HELD)

    def _keep_alive(self) -> None:
        """Send heartbeats while reading is paused, or the peers would assume a dead connection."""
        if self._keeping_alive is None and self._heartbeat:
            loop = asyncio.get_running_loop()
            self._keeping_alive = loop.call_later(self._heartbeat / 2, self._beat)

    def _beat(self) -> None:
        self._keeping_alive = None
        if max(self._held.values()) > MOST_HELD // 2 and not self.client.gone and not self.broker.gone:
            self.client.send_bytes(BEAT)
            self.broker.send_bytes(BEAT)
            self._keep_alive()

    def _on_task_done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            trace = "".join(traceback.format_exception(error))
            self._events.emit("relay.amqp.failed", error=repr(error), trace=trace)
            self.cut()

    def _drop_channels(self) -> None:
        for channel in self._channels.values():
            channel.drop()
        self._channels.clear()


class AmqpChannel:
    """A channel, from channel.open to the close-ok of both peers."""

    def __init__(
        self,
        context: RelayContext,
        number: int,
        idle: Callable[[], None],
        tap: Tap,
    ) -> None:
        self._context = context
        self.link = ChannelLink(context, number, self._ended)
        self._deliveries = Deliveries(self.link, tap)
        self._publishes = Publishes(self.link, self._handle, idle, tap)
        self._tap = tap

    @property
    def busy(self) -> bool:
        """Whether commands of the client wait to be sent to the broker."""
        return self._publishes.busy

    @property
    def is_over(self) -> bool:
        """Whether the relay has no part any more in how the channel is closed."""
        return self.link.is_over

    def from_client(self, command: Command) -> None:
        if not self.link.closed:
            self._publishes.take(command)
        elif not self.link.discard_from_client(command) and command.kind in _CLOSING:
            self._context.peers.to_broker(command)

    def from_broker(self, command: Command) -> None:
        if not self.link.closed:
            self._tell_client(command)
        elif not self.link.discard_from_broker(command) and command.kind in _CLOSING:
            self._context.peers.to_client(command)

    def drop(self) -> None:
        """Close the channel, since its connection is lost."""
        self.link.end()

    def _handle(self, command: Command) -> None:
        if (deliver := Deliveries.FROM_CLIENT.get(command.kind)) is not None:
            deliver(self._deliveries, command)
        elif (publish := Publishes.FROM_CLIENT.get(command.kind)) is not None:
            publish(self._publishes, command)
        else:
            self.link.to_broker(command)
            if command.kind is ChannelClose:
                self.link.end()

    def _tell_client(self, command: Command) -> None:
        if command.kind in REFUSALS:
            self._tap.report_refusal(self._publishes.latest, command)
        if (deliver := Deliveries.FROM_BROKER.get(command.kind)) is not None:
            deliver(self._deliveries, command)
        elif (publish := Publishes.FROM_BROKER.get(command.kind)) is not None:
            publish(self._publishes, command)
        else:
            self.link.to_client(command)
            if command.kind is ChannelClose:
                self.link.end()

    def _ended(self) -> None:
        self._publishes.close()
        self._deliveries.close()
