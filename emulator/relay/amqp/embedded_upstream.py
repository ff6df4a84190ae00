"""The broker of this process as a relay's upstream: no socket, no bytes, and no second event loop.

Session -> OwnBroker.send   -> Connection.take
Session <- OwnBroker.answer <- Connection.flush
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, cast

from emulator.amqp.broker import Broker
from emulator.amqp.client_end import Address
from emulator.amqp.wire.commands import Command
from emulator.clock import Clock
from emulator.events import Events
from emulator.http.bounds.turns import Turns
from emulator.relay.amqp.ends import End, Owner, Peer

_FLUSHING: Final = ThreadPoolExecutor(1, "amqp-flush")
_IS_BUSY: Final = "the broker has more to do"
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

    def build_end(
        self, owner: Owner, client: Peer, _turns: Turns, /, **writing: Callable[[], None]
    ) -> OwnBroker:
        """Begin a connection for a client."""
        return OwnBroker(self, owner, client, **writing)

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

    def flush(self, work: Callable[[], None]) -> Future[None]:
        flushing = _FLUSHING.submit(work)
        flushing.add_done_callback(self._wake_from_thread)
        return flushing

    def report(self, kind: str, **fields: object) -> None:
        self._events.emit(kind, **cast("dict[str, Any]", fields))

    def guard(self, work: Callable[..., None], *given: object) -> bool:
        """Do ``work`` with what is ``given``; report what it raises, and return False then."""
        try:
            work(*given)
        except Exception as error:  # noqa: BLE001 -- one connection's failure must not stop the others
            trace = "".join(traceback.format_exception(error))
            self.report("amqp.failed", error=repr(error), trace=trace)
            return False
        return True

    def _wake_from_thread(self, _flushed: Future[None]) -> None:
        # The loop may have ended meanwhile.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self.wake)

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


class OwnBroker(End):
    """The end of a relayed connection that is a connection of the broker itself, and that one's wire.

    Commands are handed over as they are. What the broker answers comes before ``flush`` returns.
    """

    def __init__(
        self, upstream: EmbeddedUpstream, owner: Owner, client: Peer, **writing: Callable[[], None]
    ) -> None:
        super().__init__(owner, **writing)
        self.other = client
        self._client = client
        self._upstream = upstream
        self._loop = asyncio.get_running_loop()
        self._reasons: set[str] = set()
        self._is_ended = False
        self.was_connected = True
        self._connection = upstream.broker.connect(self)
        self._timers = [self._loop.call_later(HANDSHAKE_SECONDS, self._end_handshake)]
        self._is_beating = False

    # The end that the relay writes to

    @property
    def is_open(self) -> bool:
        return not self._is_ended

    @property
    def is_closing(self) -> bool:
        return self._is_ended

    def pause_reading(self, reason: str) -> None:
        if not self._reasons:
            self._connection.pause()
        self._reasons.add(reason)

    def resume_reading(self, reason: str) -> None:
        if reason not in self._reasons:
            return
        self._reasons.remove(reason)
        if not self._reasons and self.is_open:
            self._upstream.guard(self._connection.resume)

    def _add(self, command: Command) -> None:
        self._out.append(command)

    def _write(self, added: list[Command]) -> None:
        connection = self._connection
        if not self._upstream.guard(connection.take, added):
            self.abort()
        if connection.heartbeat and not self._is_beating:
            self._is_beating = True
            self._beat()

    def close(self) -> None:
        self.flush()
        self.abort()

    def abort(self) -> None:
        """End both ends. The owner is told in the next turn of the loop."""
        if self._is_ended:
            return
        self._is_ended = True
        for timer in self._timers:
            timer.cancel()
        self._upstream.guard(self._connection.lost)
        self._loop.call_soon(self._tell_lost)

    def _tell_lost(self) -> None:
        self.gone = True
        self.owner.on_lost(self)

    # The wire of the broker's connection

    @property
    def ends(self) -> tuple[Address, Address]:
        return self._client.addresses

    @property
    def secured(self) -> bool:
        return self._client.secured

    def answer(self, commands: list[Command]) -> None:
        """Take what the broker answers, or delivers."""
        if not self._is_ended:
            self.owner.on_input(self, lambda: self.owner.on_commands(self, commands))

    def pause_input(self) -> None:
        self.other.pause_reading(_IS_BUSY)

    def resume_input(self) -> None:
        if self.is_open:
            self.other.resume_reading(_IS_BUSY)

    def close_after(self, seconds: float) -> None:
        self._timers.append(self._loop.call_later(seconds, self.abort))

    def _end_handshake(self) -> None:
        if self._connection.state != "running":
            self.abort()

    def _beat(self) -> None:
        if self._is_ended:
            return
        self._upstream.guard(self._connection.beat)
        self._timers[1:] = [self._loop.call_later(self._connection.heartbeat / 2, self._beat)]
