"""One peer of a relayed connection: reads commands from its socket, and gathers writes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, Protocol, cast

from emulator.clock import stopwatch
from emulator.http.bounds.client_limits import SLICE_BYTES, SLICE_SECONDS
from emulator.http.bounds.turns import Inflow, Piece, Turns
from emulator.relay.amqp.frames import Command, CommandReader, NotAmqpError, TooMuchError
from emulator.relay.amqp.watching import Watcher

_PIECE_BYTES: Final = 512
"""Of a slice, before the time is looked at: 40 channels can be opened with it."""


class Owner(Protocol):
    """The session of a peer."""

    def on_input(self, peer: Peer, inflow: Inflow, data: bytes) -> None:
        """Feed the ``inflow`` of a peer with what was read."""

    def on_greeting(self, peer: Peer, data: bytes) -> int:
        """Handle the first bytes; return how many of them are not frames."""

    @property
    def is_gathering(self) -> bool:
        """Whether the owner will have the peers flushed in this turn of the event loop."""

    def on_commands(self, peer: Peer, received: list[Command]) -> None: ...
    def on_not_amqp(self, peer: Peer, data: bytes) -> None: ...
    def on_too_much(self, error: TooMuchError) -> None: ...
    def on_lost(self, peer: Peer) -> None: ...


class Peer(asyncio.Protocol):
    """A client or a broker. ``other`` is read only as fast as this peer takes the writes.

    A client can have a ``watcher``. ``before_write`` is called before each write, and ``after_write`` after
    one that the owner does not gather.
    """

    other: Peer
    watcher: Watcher | None = None

    def __init__(
        self,
        owner: Owner,
        turns: Turns,
        reader: CommandReader,
        *,
        connected: Callable[[], None] = lambda: None,
        before_write: Callable[[], None] = lambda: None,
        after_write: Callable[[], None] = lambda: None,
    ) -> None:
        self._owner = owner
        self._turns = turns
        self._connected = connected
        self._before_write = before_write
        self._after_write = after_write
        self._reader = reader
        self._out: list[bytes] = []
        self._greeted = False
        self._raw = False
        self._reasons: set[str] = set()
        self._inflow: Inflow | None = None
        self.transport: asyncio.Transport | None = None
        self.gone = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self._inflow = Inflow(self._turns, self.transport, self._take)
        for reason in self._reasons:
            self._inflow.hold(reason)
        self._connected()
        # The client may have sent bytes already: not every event loop obeys a pause before the first read.
        self.flush()

    def connection_lost(self, _exc: Exception | None) -> None:
        self.gone = True
        self._reader.clear()
        self._owner.on_lost(self)

    def data_received(self, data: bytes) -> None:
        if self._raw:
            self.other.send([data])
        elif self._inflow is not None:
            self._owner.on_input(self, self._inflow, data)

    def _take(self, data: Piece) -> int:
        """Process the commands of one slice; return the number of bytes consumed."""
        begun = 0
        view = memoryview(data)
        if not self._greeted:
            self._greeted = True
            begun = self._owner.on_greeting(self, bytes(data))
            view = view[begun:]
        if self._raw:
            self.other.send([bytes(view)])
            return len(data)
        taken, until = 0, stopwatch() + SLICE_SECONDS
        try:
            while taken < SLICE_BYTES and not self._raw and not self._is_closing:
                received, piece = self._reader.feed(view, _PIECE_BYTES)
                self._owner.on_commands(self, received)
                taken += piece
                view = view[piece:]
                if not piece or stopwatch() >= until:
                    break
        except NotAmqpError:
            self._owner.on_not_amqp(self, self._reader.unfinished + bytes(view))
            return len(data)
        except TooMuchError as error:
            self._reader.clear()
            self._owner.on_too_much(error)
            if self._inflow is not None:
                # The start of the next frame is unknown from here on.
                self._inflow.stop()
            return len(data)
        return begun + taken

    @property
    def _is_closing(self) -> bool:
        return self.gone or (self.transport is not None and self.transport.is_closing())

    def pass_raw(self) -> None:
        """Pass all further bytes unread."""
        self._raw = True

    def pause_writing(self) -> None:
        self.other.pause_reading("the other peer is slow")

    def resume_writing(self) -> None:
        self.other.resume_reading("the other peer is slow")

    def pause_reading(self, reason: str) -> None:
        """Pause reading until all reasons are gone."""
        self._reasons.add(reason)
        if self._inflow is not None and not self.gone:
            self._inflow.hold(reason)

    def resume_reading(self, reason: str) -> None:
        self._reasons.discard(reason)
        if self._inflow is not None and not self.gone:
            self._inflow.release(reason)

    def send(self, frames: list[bytes]) -> None:
        """Write frames together with all others of this turn of the event loop; drop them after a close."""
        if self._is_closing:
            return
        if self.watcher is not None:
            self.watcher.note_to_client(frames)
        if not self._out and not self._owner.is_gathering:
            self.flush_soon()
        self._out += frames

    def flush(self) -> None:
        if self._out and self.transport is not None and not self.transport.is_closing():
            self._before_write()
            out, self._out = self._out, []
            self.transport.write(b"".join(out))
            if not self._owner.is_gathering:
                self._after_write()

    def flush_soon(self) -> None:
        """Flush in the next turn of the event loop."""
        asyncio.get_running_loop().call_soon(self.flush)

    @property
    def has_unsent(self) -> bool:
        return bool(self._out)

    def close(self) -> None:
        """Flush, and close the connection."""
        self.flush()
        if self.transport is not None:
            self.transport.close()

    def abort(self) -> None:
        """Cut the connection at once."""
        if self.transport is not None:
            self.transport.abort()
