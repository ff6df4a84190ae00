"""The two ends of a relayed connection: clients, and brokers behind a socket or in this process."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any, Final, Protocol, cast

from emulator.amqp.client_end import Address
from emulator.amqp.wire.commands import Command, CommandReader, TooMuchError
from emulator.clock import stopwatch
from emulator.http.bounds.body_memory import ARRIVING, NO_ROOM
from emulator.http.bounds.client_limits import SLICE_SECONDS
from emulator.http.bounds.turns import Inflow, Piece, Turns
from emulator.relay.amqp.watching import Watcher

SLICE_BYTES: Final = 1 << 18
"""Of a connection's input that are read before others have their turn, if that is within the time of one."""
_LARGE_BYTES: Final = 1 << 14
"""Of a piece that is not copied to be written together with others."""
_UNKNOWN: Final = ("", 0)
_PIECE_BYTES: Final = 512
"""Of a slice, before the time is looked at: 40 channels can be opened with it."""


class Owner(Protocol):
    """The session of an end."""

    def on_input(self, end: End, work: Callable[[], None], inflow: Inflow | None = None) -> None:
        """Do the ``work`` that comes of input, and write what comes of that."""

    def on_greeting(self, end: End, data: bytes) -> int | None:
        """Handle the first bytes; return how many of them are no frames, and None to have more first."""

    @property
    def is_gathering(self) -> bool:
        """Whether the owner will have the ends flushed in this turn of the event loop."""

    def pass_raw(self) -> None:
        """Have both ends pass all further bytes unread."""

    def on_commands(self, end: End, received: list[Command]) -> None: ...
    def on_too_much(self, error: TooMuchError) -> None: ...
    def on_lost(self, end: End) -> None: ...


def _do_nothing() -> None: ...


class End(ABC):
    """A client, or a broker. ``other`` is read only as fast as this end takes the writes.

    A client can have a ``watcher``. ``before_write`` is called before each write, and ``after_write`` after
    one that the owner does not gather. ``gone`` says that its connection has ended.
    """

    other: End
    watcher: Watcher | None = None

    def __init__(
        self,
        owner: Owner,
        *,
        before_write: Callable[[], None] = _do_nothing,
        after_write: Callable[[], None] = _do_nothing,
    ) -> None:
        self.owner = owner
        self._before_write = before_write
        self._after_write = after_write
        self._out: list[Any] = []
        self.is_raw = False
        self.was_connected = False
        self.gone = False

    async def connect(self) -> None:  # noqa: B027 -- only one end of three has to connect
        """Connect, where that is to be waited for. Raises OSError."""

    @property
    @abstractmethod
    def is_open(self) -> bool:
        """Whether there is a connection, and neither side of it has closed it."""

    @property
    @abstractmethod
    def is_closing(self) -> bool:
        """Whether what is sent goes nowhere."""

    @abstractmethod
    def pause_reading(self, reason: str) -> None:
        """Pause reading until all reasons are gone."""

    @abstractmethod
    def resume_reading(self, reason: str) -> None: ...
    @abstractmethod
    def close(self) -> None:
        """Flush, and close the connection."""

    @abstractmethod
    def abort(self) -> None:
        """Cut the connection at once."""

    @abstractmethod
    def _add(self, command: Command) -> None:
        """Add a command to what is written next."""

    @abstractmethod
    def _write(self, added: list[Any]) -> None: ...
    def send_unreadable(self, command: Command) -> None:
        """Send what the other end cannot read as frames."""
        self.send(command)

    def send(self, command: Command) -> None:
        """Write a command together with all others of this turn of the event loop; drop it after a close."""
        if self.is_closing:
            return
        if self.watcher is not None:
            self.watcher.note_to_client(command)
        if not self._out and not self.owner.is_gathering:
            self.flush_soon()
        self._add(command)

    def send_bytes(self, data: bytes) -> None:
        """Write bytes that are no command."""
        self.send(Command(0, None, [data]))

    def flush(self) -> None:
        if self._out and self.is_open:
            self._before_write()
            out, self._out = self._out, []
            self._write(out)
            if not self.owner.is_gathering:
                self._after_write()

    def flush_soon(self) -> None:
        """Flush in the next turn of the event loop."""
        asyncio.get_running_loop().call_soon(self.flush)

    @property
    def has_unsent(self) -> bool:
        return bool(self._out)


class Peer(End, asyncio.Protocol):
    """A client or a broker at the other side of a socket."""

    def __init__(
        self,
        owner: Owner,
        turns: Turns,
        reader: CommandReader,
        **writing: Callable[[], None],
    ) -> None:
        super().__init__(owner, **writing)
        self._turns = turns
        self.reader = reader
        self._greeted = False
        self._reasons: set[str] = set()
        self._inflow: Inflow | None = None
        self._spent = 0.0
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self.was_connected = True
        self._inflow = Inflow(self._turns, self.transport, self._take)
        for reason in self._reasons:
            self._inflow.hold(reason)
        # The client may have sent bytes already: not every event loop obeys a pause before the first read.
        self.flush()

    def connection_lost(self, _exc: Exception | None) -> None:
        self.gone = True
        self.reader.clear()
        self.owner.on_lost(self)

    def data_received(self, data: bytes) -> None:
        inflow = self._inflow
        if self.is_raw:
            self.other.send_bytes(data)
        elif inflow is not None and not inflow.keep(data):
            began = stopwatch()
            self.owner.on_input(self, lambda: inflow.feed(data), inflow)
            self._spent += stopwatch() - began
            if self._spent >= SLICE_SECONDS:
                self._spent = 0.0
                inflow.end_turn()

    def _take(self, data: Piece) -> int:
        """Process the commands of one slice; return the number of bytes consumed."""
        begun = 0
        view = memoryview(data)
        if not self._greeted:
            greeting = self.owner.on_greeting(self, bytes(data))
            if greeting is None:
                return 0
            self._greeted = True
            begun = greeting
            view = view[begun:]
        if self.is_raw:
            self.other.send_bytes(bytes(view))
            return len(data)
        taken, until = 0, stopwatch() + SLICE_SECONDS
        try:
            while taken < SLICE_BYTES and not self.is_raw and not self.is_closing:
                received, piece = self.reader.feed(view, _PIECE_BYTES)
                self.owner.on_commands(self, received)
                taken += piece
                view = view[piece:]
                if self.reader.awaited and self._inflow is not None:
                    self._inflow.await_bytes(self.reader.awaited)
                if self.reader.awaited or not piece or not view or stopwatch() >= until:
                    break
        except TooMuchError as error:
            self.reader.clear()
            self.owner.on_too_much(error)
            if self._inflow is not None:
                # The start of the next frame is unknown from here on.
                self._inflow.stop()
            return len(data)
        return begun + taken

    @property
    def addresses(self) -> tuple[Address, Address]:
        """The client's address, and the one that it connected to."""
        if self.transport is None:
            return _UNKNOWN, _UNKNOWN
        there, here = (self.transport.get_extra_info(name, _UNKNOWN) for name in ("peername", "sockname"))
        return there[:2], here[:2]

    @property
    def secured(self) -> bool:
        """Whether it speaks TLS."""
        return self.transport is not None and self.transport.get_extra_info("sslcontext") is not None

    @property
    def is_open(self) -> bool:
        return self.transport is not None and not self.transport.is_closing()

    @property
    def is_closing(self) -> bool:
        return self.gone or (self.transport is not None and self.transport.is_closing())

    def pause_writing(self) -> None:
        self.other.pause_reading("the other peer is slow")

    def resume_writing(self) -> None:
        self.other.resume_reading("the other peer is slow")

    def pause_reading(self, reason: str) -> None:
        self._reasons.add(reason)
        if self._inflow is not None and not self.gone:
            self._inflow.hold(reason)

    def resume_reading(self, reason: str) -> None:
        self._reasons.discard(reason)
        if self._inflow is not None and not self.gone:
            self._inflow.release(reason)

    def send_unreadable(self, command: Command) -> None:
        self.owner.pass_raw()
        self.send(command)

    def _add(self, command: Command) -> None:
        # Not the command itself: the garbage collector would go through all that wait.
        self._out += command.frames

    def _write(self, added: list[bytes]) -> None:
        assert self.transport is not None
        if max(map(len, added)) < _LARGE_BYTES:
            self.transport.write(b"".join(added))
        else:
            self.transport.writelines(_join_small(added))

    def close(self) -> None:
        self.flush()
        if self.transport is not None:
            self.transport.close()

    def abort(self) -> None:
        if self.transport is not None:
            self.transport.abort()


def _join_small(pieces: list[bytes]) -> Iterator[bytes]:
    """The same bytes: large pieces as they are, and what is between two of them as one."""
    for is_large, some in groupby(pieces, lambda piece: len(piece) >= _LARGE_BYTES):
        if is_large:
            yield from some
        else:
            yield b"".join(some)


class ArrivingContents:
    """Counts the incomplete contents of a client's channels: ``most`` bytes, within what all ports share."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._bytes = 0

    def count(self, size: int) -> None:
        """Count ``size`` more bytes, or fewer below 0. Raises TooMuchError."""
        if self._bytes + size > self._most:
            raise TooMuchError(501, f"messages under way have {self._most} bytes at most")
        if size > 0 and not ARRIVING.take(size):
            raise TooMuchError(506, NO_ROOM)
        if size < 0:
            ARRIVING.give_back(-size)
        self._bytes += size
