"""The broker: its one virtual host, its connections, and what happens between two pieces of input.

commands -> Connection.take -> Channel -> VirtualHost -> Queue -> Channel.deliver -> Connection
         -> Broker.commit: what must be on disk is written, then every connection's commands are sent
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from contextlib import ExitStack
from pathlib import Path
from typing import Final, Protocol

from emulator.amqp.client_end import Wire
from emulator.amqp.connection import Connection
from emulator.amqp.recovery import recover
from emulator.amqp.store.definitions import DefinitionLog
from emulator.amqp.store.message_store import DEFAULT_RESTS, MessageStore, Rests
from emulator.amqp.virtual_host import VirtualHost
from emulator.clock import Clock, stopwatch
from emulator.machine.flush_delay import FlushDelay
from emulator.rng import new_bytes

USER: Final = "guest"
_ROUND_SECONDS: Final = 0.005
"""For all connections that have more input than a turn's."""
_DEFINITIONS: Final = "definitions.log"


class Host(Protocol):
    """Who runs the broker. It makes calls when the broker cannot make them itself."""

    def wake(self) -> None:
        """Call ``proceed`` soon, and ``run_due`` when ``next_due`` has come."""

    def wake_in(self, seconds: float) -> None:
        """Call ``proceed`` after so many real seconds at the latest."""

    def flush(self, work: Callable[[], None]) -> Future[None]:
        """Do ``work``, which waits for the disk, on another thread, and call ``proceed`` when it is done."""

    def report(self, kind: str, **fields: object) -> None:
        """Emit an event."""


class Broker:
    """A broker with one user, ``guest``, who may do everything. Not thread-safe.

    ``directory`` None keeps nothing. Raises ``DamagedLogError`` for a log that is damaged, and OSError.
    """

    def __init__(
        self,
        directory: Path | None,
        clock: Clock,
        host: Host,
        *,
        password: str | None = None,
        fsync: bool = False,
        rests: Rests = DEFAULT_RESTS,
    ) -> None:
        self.clock = clock
        self.user = USER
        self.password = password or new_bytes(32).hex()
        self.connections: dict[Connection, float] = {}
        """The connections, with when they began by the wall clock."""
        self._host = host
        self._unsent: dict[Connection, None] = {}
        self._unread: dict[Connection, None] = {}
        self._ending_turns = False
        self._flushing: Future[None] | None = None
        self._gathered: dict[Connection, None] = {}
        self._delay = FlushDelay()
        definitions = DefinitionLog(directory / _DEFINITIONS if directory else None, fsync=fsync)
        store = MessageStore(directory, fsync=fsync, rests=rests)
        self.vhost = VirtualHost(clock, definitions, store, host.wake)
        if directory is not None:
            if definitions.torn_bytes:
                host.report("journal.cut", file=str(directory / _DEFINITIONS), bytes=definitions.torn_bytes)
            # A broker that could not be made has nobody who closes its files.
            with ExitStack() as opened:
                opened.callback(definitions.close)
                opened.callback(store.close)
                recover(self.vhost, clock)
                opened.pop_all()
            for path, torn in store.torn_files:
                host.report("journal.cut", file=str(path), bytes=torn)

    @property
    def report(self) -> Callable[..., None]:
        return self._host.report

    def connect(self, wire: Wire) -> Connection:
        """Begin a connection that writes to ``wire``."""
        connection = Connection(self, wire)
        self.connections[connection] = self.clock.time()
        return connection

    def forget(self, connection: Connection) -> None:
        """Forget a connection that is gone."""
        self.connections.pop(connection, None)
        self._unread.pop(connection, None)

    def note_unsent(self, connection: Connection) -> None:
        """Note that a connection has something to send."""
        self._unsent[connection] = None

    def note_unread(self, connection: Connection) -> None:
        """Note that a connection has more to handle than it could in its turn."""
        if not self._unread:
            self._host.wake()
        self._unread[connection] = None

    @property
    def next_due(self) -> float | None:
        """When ``run_due`` has something to do, by ``Clock.elapsed``; None for never."""
        return self.vhost.next_due

    @property
    def is_busy(self) -> bool:
        """Whether ``proceed`` has something to do."""
        return bool(self._unread) or self._ending_turns or self.vhost.is_busy

    def proceed(self) -> None:
        """Go on with what was left for later, so that no connection waits for another's messages."""
        self.vhost.proceed()
        until = stopwatch() + _ROUND_SECONDS
        # One turn each: whoever has still more goes behind the others.
        for _ in range(len(self._unread)):
            connection = next(iter(self._unread), None)
            if connection is None or stopwatch() >= until:
                break
            del self._unread[connection]
            connection.proceed()
        self._commit_aside()

    def run_due(self) -> None:
        """Drop the messages and queues whose time has come."""
        for queue in self.vhost.run_due():
            self.delete_queue(queue.name)
        self._commit_aside()

    def delete_queue(self, name: str) -> int:
        """Delete a queue and notify its consumers. Returns how many messages waited in it."""
        queue = self.vhost.find_queue(name)
        count = self.vhost.remove_queue(queue)
        queue.notify_consumers()
        return count

    def end_turn(self) -> None:
        """Commit what a connection did; where that waits for the disk, together with what others do now."""
        if self._flushing is None and not self.vhost.store.awaits_flush:
            self._write_down()
        elif self._flushing is None:
            self._ending_turns = True
            self._host.wake()

    def commit(self) -> None:
        """Write down what happened, then send what waits for the clients. Waits for the disk."""
        if self._flushing is not None:
            self._end_flush(self._flushing)
        if self.vhost.store.awaits_flush:
            self._end_flush(self._begin_flush())
        self._write_down()

    def _commit_aside(self) -> None:
        """Commit without waiting for the disk: while a flush is under way, the next group gathers."""
        self._ending_turns = False
        if self._flushing is not None and self._flushing.done():
            self._delay.note_end(self._count_confirming())
            self._end_flush(self._flushing)
        if self._flushing is None and self.vhost.store.awaits_flush:
            left = self._delay.left(self._count_confirming())
            if left:
                self._host.wake_in(left)
                return
            begun = self._begin_flush()
            if begun.done():
                self._end_flush(begun)
        if self._flushing is None:
            self._write_down()

    def _count_confirming(self) -> int:
        """How many connections wait for the confirms of what they have published."""
        return sum(bool(each.confirming) for each in self._unsent)

    def _begin_flush(self) -> Future[None]:
        """Begin to put all messages so far on the disk; what waits to be sent goes when they are there."""
        self._delay.note_begin(self._count_confirming())
        self._gathered, self._unsent = self._unsent, {}
        for connection in self._gathered:
            connection.gather()
        self._flushing = self._host.flush(self.vhost.store.begin_flush())
        return self._flushing

    def _end_flush(self, flushing: Future[None]) -> None:
        """Send what waited for a flush, which may still be under way."""
        gathered, self._gathered = self._gathered, {}
        try:
            flushing.result()
        except OSError as error:
            self.report("amqp.unwritten", why=str(error))
            # Their messages may be lost, so nothing that they wait for is said. What came meanwhile is
            # behind them in the same file.
            for connection in (*gathered, *self._unsent):
                connection.break_off()
        finally:
            self._flushing = None
        self._write_marks()
        for connection in gathered:
            connection.flush()

    def _write_down(self) -> None:
        self._ending_turns = False
        self._write_marks()
        if (idle := self.vhost.store.idle_seconds) is not None:
            self._host.wake_in(idle)
        while self._unsent:
            unsent, self._unsent = self._unsent, {}
            for connection in unsent:
                connection.gather()
                connection.flush()

    def _write_marks(self) -> None:
        try:
            self.vhost.store.commit()
        except OSError as error:
            # What is not written down is delivered again after a crash, and not lost.
            self.report("amqp.unwritten", why=str(error))

    def clear(self) -> None:
        """Remove all queues, declared exchanges and messages. Connections stay."""
        for queue in tuple(self.vhost.queues.values()):
            self.delete_queue(queue.name)
        self.vhost.clear()
        self.commit()

    def close(self) -> None:
        """Close the connections and the files."""
        for connection in tuple(self.connections):
            connection.force_close("broker forced connection closure with reason 'shutdown'")
        self.commit()
        for connection in tuple(self.connections):
            connection.lost()
        self.commit()
        self.vhost.store.close()
        self.vhost.definitions.close()
