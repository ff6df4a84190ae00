"""One client's connection through the relay, and the broker's behind it."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable, Coroutine
from typing import Any, Final, cast

from pamqp import commands

from emulator.clock import Clock
from emulator.events import Events
from emulator.faults.engine import FaultEngine
from emulator.http.allowance import Allowance
from emulator.http.limits import USUAL, Limits
from emulator.http.turns import Turns
from emulator.relay.amqp.channel import AmqpChannel
from emulator.relay.amqp.channel_link import RelayContext
from emulator.relay.amqp.entry import Entry
from emulator.relay.amqp.frames import (
    GREETING,
    HEARTBEAT,
    Command,
    Method,
    TooMuchError,
    Units,
    decoded,
    encoded,
)
from emulator.relay.amqp.peer import Peer
from emulator.relay.amqp.tap import Tap

MOST_HELD: Final = 16 * 1024 * 1024
"""Bytes that faults may hold back in one direction of a connection before no more are read."""
_HELD: Final = "enough is held back"
_CONNECTING: Final = "the broker does not answer yet"
_FAREWELL_SECONDS: Final = 5.0


class Session:
    """Both sides of a connection and its channels. Whichever side ends, the other does.

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
    ) -> None:
        self._events = events
        self._tap = tap
        self._ended = ended
        self._entry = entry
        self._points = RelayContext(fault_engine, clock, self)
        self._channels: dict[int, AmqpChannel] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._closing: list[Command] = []
        self._client_left = False
        self._farewell = False
        self._told_of_blocking = False
        self._blocked = 0
        self._held = {"client": 0, "broker": 0}
        self._heartbeat = 0
        self._keeping_alive: asyncio.TimerHandle | None = None
        self.frame_max = 0
        self._heartbeats = Allowance(limits.heartbeats)
        self.client = Peer(self, turns, Units(limits.frame_bytes, limits.content_bytes))
        self.broker = Peer(self, turns, Units(), self._connected)
        self.client.other, self.broker.other = self.broker, self.client
        self.client.pause_reading(_CONNECTING)

    def _connected(self) -> None:
        self.client.resume_reading(_CONNECTING)

    # What comes

    def greeted(self, side: Peer, data: bytes) -> int:
        """The client's protocol header goes on; with another than that of 0-9-1 everything passes unread."""
        if side is self.client:
            if data.startswith(GREETING):
                self.broker.send([GREETING])
                return len(GREETING)
            self._pass_raw()
        elif data.startswith(b"AMQP"):
            self._pass_raw()
        return 0

    def not_amqp(self, side: Peer, data: bytes) -> None:
        self._pass_raw()
        side.other.send([data])

    def too_much(self, error: TooMuchError) -> None:
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

    def came(self, side: Peer, units: list[Command]) -> None:
        from_client = side is self.client
        for unit in units:
            if self._farewell:
                self._take_leave(unit)
            elif unit.channel == 0:
                self._on_connection(side, unit)
            elif unit.method == Method.CHANNEL_OPEN and from_client:
                self._open(unit)
            elif channel := self._channels.get(unit.channel):
                (channel.from_client if from_client else channel.from_broker)(unit)
            else:
                side.other.send(unit.frames)

    def lost(self, side: Peer) -> None:
        if side is self.client:
            self._client_left = True
            if not self._busy or self._blocked:
                self.broker.close()
        elif not self._farewell:
            self.client.close()
        if self.client.gone and (self.broker.gone or self.broker.transport is None):
            self._end()

    def _open(self, unit: Command) -> None:
        self._channels[unit.channel] = AmqpChannel(self._points, unit.channel, self._idle, self._tap)
        self.broker.send(unit.frames)

    def _on_connection(self, side: Peer, unit: Command) -> None:
        if unit.method == Method.START_OK:
            if self._entry is not None and side is self.client:
                unit.frames[0] = self._entry.exchanged(unit.frames[0])
            properties = cast("commands.Connection.StartOk", decoded(unit.frames[0])).client_properties or {}
            capabilities = cast("dict[str, Any]", properties.get("capabilities") or {})
            self._told_of_blocking = bool(capabilities.get("connection.blocked"))
        elif unit.method == Method.TUNE_OK:
            tuned = cast("commands.Connection.TuneOk", decoded(unit.frames[0]))
            self.frame_max, self._heartbeat = tuned.frame_max, tuned.heartbeat
        elif unit.method == Method.CONNECTION_CLOSE and side is self.client and self._busy:
            self._closing.append(unit)
            return
        elif unit.frames[0] == HEARTBEAT and side is self.client and not self._heartbeats.spend():
            self.close_connection(501, "too many heartbeats")
            return
        side.other.send(unit.frames)

    @property
    def _busy(self) -> bool:
        return any(channel.busy for channel in self._channels.values())

    def _idle(self) -> None:
        """Something that waited has gone to the broker: what came behind it on other channels may follow."""
        if self._busy:
            return
        for unit in self._closing:
            self.broker.send(unit.frames)
        self._closing.clear()
        if self._client_left:
            self.broker.close()

    # What the channels use

    def to_client(self, frames: list[bytes]) -> None:
        self.client.send(frames)

    def to_broker(self, frames: list[bytes]) -> None:
        self.broker.send(frames)

    def cut(self) -> None:
        """Close the client's connection without a word; what went to the broker has gone."""
        self.broker.close()
        self.client.abort()

    def close_connection(self, code: int, text: str) -> None:
        """Close the client's connection as a broker does; the broker sees its client go."""
        self.client.send([encoded(commands.Connection.Close(code, text[:255], 0, 0), 0)])
        self._farewell = True
        self._drop_channels()
        self.broker.close()
        asyncio.get_running_loop().call_later(_FAREWELL_SECONDS, self.client.close)

    def block(self) -> None:
        """Tell the client, if it wants to know, that the broker takes no publishes for now."""
        self._blocked += 1
        if self._blocked == 1 and self._told_of_blocking:
            self.client.send([encoded(commands.Connection.Blocked("throttled by the fault stage"), 0)])

    def unblock(self) -> None:
        self._blocked -= 1
        if not self._blocked and self._told_of_blocking and not self.client.gone:
            self.client.send([encoded(commands.Connection.Unblocked(), 0)])

    def held_for_client(self, size: int) -> None:
        self._hold("client", self.broker, size)

    def held_for_broker(self, size: int) -> None:
        self._hold("broker", self.client, size)

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def drop(self) -> None:
        """End both sides at once."""
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
        """While heartbeats are not read on one side, the other would think it dead."""
        if self._keeping_alive is None and self._heartbeat:
            loop = asyncio.get_running_loop()
            self._keeping_alive = loop.call_later(self._heartbeat / 2, self._beat)

    def _beat(self) -> None:
        self._keeping_alive = None
        if max(self._held.values()) > MOST_HELD // 2 and not self.client.gone and not self.broker.gone:
            self.client.send([HEARTBEAT])
            self.broker.send([HEARTBEAT])
            self._keep_alive()

    def _take_leave(self, unit: Command) -> None:
        if unit.method == Method.CONNECTION_CLOSE_OK:
            self.client.close()

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            trace = "".join(traceback.format_exception(error))
            self._events.emit("relay.amqp.failed", error=repr(error), trace=trace)
            self.cut()

    def _drop_channels(self) -> None:
        for channel in self._channels.values():
            channel.drop()
        self._channels.clear()

    def _end(self) -> None:
        self._drop_channels()
        for task in tuple(self._tasks):
            task.cancel()
        if self._keeping_alive is not None:
            self._keeping_alive.cancel()
        self._ended(self)
