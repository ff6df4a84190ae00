"""One relayed connection: a client, a broker, and their channels.

    client socket -> Peer -> Session -> AmqpChannel -> Publishes  -> Session -> Peer -> broker socket
    client socket <- Peer <- Session <- Deliveries <- AmqpChannel <- Session <- Peer <- broker socket

Frames of channel 0 stay in the session. Bytes that are not AMQP 0-9-1 pass unread.
"""

from __future__ import annotations

import asyncio
import struct
import traceback
from collections.abc import Callable, Coroutine
from typing import Any, Final

from emulator.amqp.refusals import shorten
from emulator.amqp.wire.field_tables import plain_table
from emulator.amqp.wire.methods import (
    ConnectionBlocked,
    ConnectionClose,
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
from emulator.relay.amqp.amqp_tap import Tap
from emulator.relay.amqp.channel import CLOSING, AmqpChannel
from emulator.relay.amqp.channel_link import RelayContext
from emulator.relay.amqp.entry import Entry
from emulator.relay.amqp.frames import (
    GREETING,
    HEARTBEAT,
    Command,
    CommandReader,
    Method,
    NotAmqpError,
    TooMuchError,
    decode_method,
    encode_method,
)
from emulator.relay.amqp.peer import Peer
from emulator.relay.amqp.watching import Watch

MOST_HELD: Final = 16 * 1024 * 1024
"""Bytes that faults may hold back in one direction of a connection before reading is paused."""
_HELD: Final = "enough is held back"
_CONNECTING: Final = "the broker does not answer yet"
_FAREWELL_SECONDS: Final = 5.0


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
        self.client = Peer(self, turns, CommandReader(limits.frame_bytes, limits.content_bytes))
        self.broker = Peer(
            self,
            turns,
            CommandReader(),
            connected=self._connected,
            before_write=tap.write_persistent,
            after_write=tap.write_records,
        )
        self.client.other, self.broker.other = self.broker, self.client
        self._watcher = self.client.watcher = watch(self.client) if watch is not None else None
        self.client.pause_reading(_CONNECTING)

    def _connected(self) -> None:
        self.client.resume_reading(_CONNECTING)

    # Called by the peers

    def on_input(self, peer: Peer, inflow: Inflow, data: bytes) -> None:
        """Process input, and write at once what comes of it if that is all there is.

        A broker in this process answers while it is written to. With more input to come, everything is
        written in the next turn of the event loop, together with what comes of that. What is recorded of
        transient messages, which a death of the sandbox takes anyway, is written when the client has its
        answer.
        """
        if self.is_gathering:
            inflow.feed(data)
            return
        self.is_gathering = True
        try:
            inflow.feed(data)
            if not inflow.held:
                if peer is self.client:
                    self.broker.flush()
                self.client.flush()
        finally:
            self.is_gathering = False
            for each in (self.broker, self.client):
                if each.has_unsent:
                    each.flush_soon()
            if not self.broker.has_unsent:
                self._tap.write_records()

    def on_greeting(self, peer: Peer, data: bytes) -> int:
        """Forward the client's protocol header; after a header other than 0-9-1, everything passes unread."""
        if peer is self.client:
            if data.startswith(GREETING):
                self.broker.send([GREETING])
                return len(GREETING)
            self._pass_raw()
        elif data.startswith(b"AMQP"):
            self._pass_raw()
        return 0

    def on_not_amqp(self, peer: Peer, data: bytes) -> None:
        self._pass_raw()
        peer.other.send([data])

    def on_too_much(self, error: TooMuchError) -> None:
        self.close_connection(error.code, str(error))

    def _pass_raw(self) -> None:
        if self._entry is not None and self._entry.is_only_way:
            # As a broker does that does not speak the client's protocol (section 4.2.2). What the client
            # sends now goes to a connection that is closed.
            self.broker.abort()
            self.client.send([GREETING])
            self.client.close()
        self.client.pass_raw()
        self.broker.pass_raw()

    def on_commands(self, peer: Peer, received: list[Command]) -> None:
        for place, command in enumerate(received):
            try:
                self._on_command(peer, command)
            except (NotAmqpError, IndexError, struct.error):
                # Its arguments end too early or cannot be read. The broker refuses it in its own words.
                self._pass_raw()
                peer.other.send([frame for left in received[place:] for frame in left.frames])
                return

    def _on_command(self, peer: Peer, command: Command) -> None:
        from_client = peer is self.client
        if from_client and self._refused and command.channel:
            return
        if from_client and self._watcher is not None:
            self._watcher.note_from_client(command)
        if self._closing_client:
            if command.method == Method.CONNECTION_CLOSE_OK:
                self.client.close()
        elif command.channel == 0:
            self._on_connection(peer, command)
        elif command.method == Method.CHANNEL_OPEN and from_client:
            self._channels[command.channel] = AmqpChannel(
                self._context, command.channel, self._forward_close_if_idle, self._tap
            )
            self.broker.send(command.frames)
        elif channel := self._channels.get(command.channel):
            (channel.from_client if from_client else channel.from_broker)(command)
            if command.method in CLOSING and channel.is_over:
                # What is sent there now is between the peers: a broker closes the connection for it.
                del self._channels[command.channel]
        else:
            peer.other.send(command.frames)

    def on_lost(self, peer: Peer) -> None:
        if peer is self.client:
            if self._watcher is not None:
                self._watcher.note_lost()
            self._client_left = True
            if not self._busy or self._blocked:
                self.broker.close()
        elif not self._closing_client:
            self.client.close()
        if self.client.gone and (self.broker.gone or self.broker.transport is None):
            self._drop_channels()
            for task in tuple(self._tasks):
                task.cancel()
            if self._keeping_alive is not None:
                self._keeping_alive.cancel()
            self._ended(self)

    def _on_connection(self, peer: Peer, command: Command) -> None:
        if command.method == Method.START_OK:
            if self._entry is not None and peer is self.client:
                command.frames[0] = self._entry.exchanged(command.frames[0])
            asked = decode_method(command.frames[0], ConnectionStartOk)
            capabilities = plain_table(asked.client_properties).get("capabilities")
            known = capabilities if isinstance(capabilities, dict) else {}
            self._supports_blocked = bool(known.get("connection.blocked"))
        elif command.method == Method.TUNE_OK:
            tuned = decode_method(command.frames[0], ConnectionTuneOk)
            self.frame_max, self._heartbeat = tuned.frame_max, tuned.heartbeat
        elif command.method == Method.CONNECTION_CLOSE and peer is self.client and self._busy:
            self._closing.append(command)
            return
        elif command.method == Method.CONNECTION_CLOSE and peer is self.broker:
            self._refused = True
        elif command.frames[0] == HEARTBEAT and peer is self.client and not self._heartbeats.spend():
            self.close_connection(501, "too many heartbeats")
            return
        peer.other.send(command.frames)

    @property
    def _busy(self) -> bool:
        return any(channel.busy for channel in self._channels.values())

    def _forward_close_if_idle(self) -> None:
        """Forward the client's close, which waited for commands on other channels, if none waits any more."""
        if self._busy:
            return
        for command in self._closing:
            self.broker.send(command.frames)
        self._closing.clear()
        if self._client_left:
            self.broker.close()

    # Called by the channels

    def to_client(self, frames: list[bytes]) -> None:
        self.client.send(frames)

    def to_broker(self, frames: list[bytes]) -> None:
        self.broker.send(frames)

    def cut(self) -> None:
        """Cut the client's connection; what was sent to the broker stays sent."""
        if self._watcher is not None:
            self._watcher.note_cut()
        self.broker.close()
        self.client.abort()

    def close_connection(self, code: int, text: str) -> None:
        """Close the client's connection with a reply code, and the broker's without one."""
        self.client.send([encode_method(ConnectionClose(code, shorten(text), 0, 0), 0)])
        self._closing_client = True
        self._drop_channels()
        self.broker.close()
        asyncio.get_running_loop().call_later(_FAREWELL_SECONDS, self.client.close)

    def block(self) -> None:
        """Send connection.blocked to a client that supports it."""
        self._blocked += 1
        if self._blocked == 1 and self._supports_blocked:
            self.client.send([encode_method(ConnectionBlocked("throttled by a fault"), 0)])

    def unblock(self) -> None:
        self._blocked -= 1
        if not self._blocked and self._supports_blocked and not self.client.gone:
            self.client.send([encode_method(ConnectionUnblocked(), 0)])

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

    def _hold(self, kept_for: str, source: Peer, size: int) -> None:
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
            self.client.send([HEARTBEAT])
            self.broker.send([HEARTBEAT])
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
