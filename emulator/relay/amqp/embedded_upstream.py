"""The broker of this process as a relay's upstream: no socket, and no second event loop.

Peer -> InProcessTransport.write -> Connection.receive
Peer <- InProcessTransport       <- Wire of the connection
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, cast

from emulator.amqp.broker import Broker
from emulator.amqp.client_end import Address
from emulator.clock import Clock
from emulator.events import Events
from emulator.relay.amqp.peer import Peer

_UNKNOWN: Final = ("", 0)
HANDSHAKE_SECONDS: Final = 10.0
"""How long a client has to log in. Clients wait in real time, so this and heartbeats do too."""


class EmbeddedUpstream:
    """Runs a broker on the event loop: its timers on the sandbox's clock, its turns between others' work."""

    broker: Broker
    url: str

    def __init__(self, clock: Clock, events: Events) -> None:
        self._clock = clock
        self._events = events
        self._loop = asyncio.get_running_loop()
        # Nothing goes on before the broker is loaded.
        self._going_on = True
        self._timer: asyncio.Task[None] | None = None
        self._timer_due: float | None = None
        self._reminder: asyncio.Handle | None = None
        self._reminder_due = 0.0

    @classmethod
    async def open(
        cls, directory: Path | None, clock: Clock, events: Events, *, fsync: bool = False
    ) -> EmbeddedUpstream:
        """Load the broker on another thread, since there may be much on disk, and let it go on.

        Raises ``DamagedLogError`` and OSError.
        """
        opened = cls(clock, events)
        opened.broker = await asyncio.to_thread(Broker, directory, clock, opened, fsync=fsync)
        opened.url = f"amqp://{opened.broker.user}:{opened.broker.password}@localhost/%2F"
        opened._going_on = False
        opened.wake()
        return opened

    async def connect(self, protocol: asyncio.Protocol) -> None:
        """Connect a relay's peer."""
        InProcessTransport(self, protocol)

    def clear(self) -> None:
        """Remove all queues, declared exchanges and messages."""
        self.guard(self.broker.clear)

    async def close(self) -> None:
        """Close the connections and the files."""
        if self._timer is not None:
            self._timer.cancel()
        self._cancel_reminder()
        self.broker.close()

    # What the broker asks for

    def wake(self) -> None:
        if not self._going_on:
            self._going_on = True
            self._loop.call_soon(self._go_on)

    def wake_in(self, seconds: float) -> None:
        due = self._loop.time() + seconds
        if not seconds:
            self.wake()
        elif self._reminder is None or self._reminder_due > due:
            self._cancel_reminder()
            # The time is kept here: uvloop's handle for a very short delay is no timer.
            self._reminder_due = due
            self._reminder = self._loop.call_later(seconds, self._remind)

    def report(self, kind: str, **fields: object) -> None:
        self._events.emit(kind, **cast("dict[str, Any]", fields))

    def guard(self, work: Callable[..., None], *given: bytes) -> bool:
        """Do ``work`` with what is ``given``; report what it raises, and return False then."""
        try:
            work(*given)
        except Exception as error:  # noqa: BLE001 -- one connection's failure must not stop the others
            trace = "".join(traceback.format_exception(error))
            self.report("amqp.failed", error=repr(error), trace=trace)
            return False
        return True

    def _remind(self) -> None:
        self._reminder = None
        self.wake()

    def _cancel_reminder(self) -> None:
        if self._reminder is not None:
            self._reminder.cancel()
            self._reminder = None

    def _go_on(self) -> None:
        self._going_on = False
        self.guard(self.broker.proceed)
        if self.broker.is_busy:
            self.wake()
        due = self.broker.next_due
        if due is not None and (self._timer_due is None or due < self._timer_due):
            if self._timer is not None:
                self._timer.cancel()
            self._timer_due = due
            self._timer = self._loop.create_task(self._wait(due))

    async def _wait(self, due: float) -> None:
        await self._clock.sleep(due - self._clock.elapsed())
        self._timer = self._timer_due = None
        self.guard(self.broker.run_due)
        self.wake()


class InProcessTransport(asyncio.Transport):
    """A transport whose other end is a connection of the broker, and the wire of that connection."""

    def __init__(self, upstream: EmbeddedUpstream, protocol: asyncio.Protocol) -> None:
        super().__init__()
        self._upstream = upstream
        self._protocol = protocol
        self._loop = asyncio.get_running_loop()
        self._closing = False
        self._connection = upstream.broker.connect(self)
        self._timers = [self._loop.call_later(HANDSHAKE_SECONDS, self._end_handshake)]
        self._beating = False
        protocol.connection_made(self)

    # The transport of the relay's peer

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Give bytes to the broker; what it answers comes before this returns."""
        if self._closing:
            return
        if not self._upstream.guard(self._connection.receive, bytes(data)):
            self.abort()
        if self._connection.heartbeat and not self._beating:
            self._beating = True
            self._beat()

    def is_closing(self) -> bool:
        return self._closing

    def close(self) -> None:
        self.abort()

    def abort(self) -> None:
        """End both ends. The peer is told in the next turn of the loop."""
        if self._closing:
            return
        self._closing = True
        for timer in self._timers:
            timer.cancel()
        self._upstream.guard(self._connection.lost)
        self._loop.call_soon(self._protocol.connection_lost, None)

    def pause_reading(self) -> None:
        self._connection.pause()

    def resume_reading(self) -> None:
        self._upstream.guard(self._connection.resume)

    # The wire of the connection: ``write`` of the one end is ``data_received`` of the other

    @property
    def ends(self) -> tuple[Address, Address]:
        """The addresses of the client's socket, which is behind the relay's other peer."""
        client = self._protocol.other.transport if isinstance(self._protocol, Peer) else None
        if client is None:
            return _UNKNOWN, _UNKNOWN
        peer, own = (client.get_extra_info(name, _UNKNOWN) for name in ("peername", "sockname"))
        return peer[:2], own[:2]

    def send(self, data: bytes) -> None:
        if not self._closing:
            self._protocol.data_received(data)

    def pause_input(self) -> None:
        self._protocol.pause_writing()

    def resume_input(self) -> None:
        if not self._closing:
            self._protocol.resume_writing()

    def close_after(self, seconds: float) -> None:
        self._timers.append(self._loop.call_later(seconds, self.abort))

    def _end_handshake(self) -> None:
        if self._connection.state != "running":
            self.abort()

    def _beat(self) -> None:
        if self._closing:
            return
        self._upstream.guard(self._connection.beat)
        self._timers[1:] = [self._loop.call_later(self._connection.heartbeat / 2, self._beat)]
