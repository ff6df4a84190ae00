"""One end of a relayed connection: what is written to its socket gathered, what is read in units."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol, cast

from emulator.http.turns import Inflow, Piece, Turns
from emulator.relay.amqp.frames import Command, NotAmqpError, TooMuchError, Units


class Owner(Protocol):
    """The session that a side belongs to."""

    def greeted(self, side: Peer, data: bytes) -> int:
        """Bytes that came first; how many of them are no frames."""

    def came(self, side: Peer, units: list[Command]) -> None: ...
    def not_amqp(self, side: Peer, data: bytes) -> None: ...
    def too_much(self, error: TooMuchError) -> None: ...
    def lost(self, side: Peer) -> None: ...


class Peer(asyncio.Protocol):
    """``other`` is read from only as fast as this one takes what is written."""

    other: Peer

    def __init__(
        self, owner: Owner, turns: Turns, units: Units, connected: Callable[[], None] = lambda: None
    ) -> None:
        self._owner = owner
        self._turns = turns
        self._connected = connected
        self._units = units
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
        # A client may have spoken already: not every event loop heeds a pause from before it reads.
        self.flush()

    def connection_lost(self, _exc: Exception | None) -> None:
        self.gone = True
        self._units.clear()
        self._owner.lost(self)

    def data_received(self, data: bytes) -> None:
        if self._raw:
            self.other.send([data])
        elif self._inflow is not None:
            self._inflow.feed(data)

    def _take(self, data: Piece) -> int:
        """Have the units of one slice go their ways; how many bytes those were."""
        begun = 0
        if not self._greeted:
            self._greeted = True
            begun = self._owner.greeted(self, bytes(data))
        if self._raw:
            self.other.send([bytes(memoryview(data)[begun:])])
            return len(data)
        try:
            units, taken = self._units.feed(memoryview(data)[begun:])
        except NotAmqpError:
            self._owner.not_amqp(self, self._units.unfinished + bytes(memoryview(data)[begun:]))
            return len(data)
        except TooMuchError as error:
            self._units.clear()
            self._owner.too_much(error)
            if self._inflow is not None:
                # Where the next frame begins is not known any more.
                self._inflow.stop()
            return len(data)
        self._owner.came(self, units)
        return begun + taken

    def pass_raw(self) -> None:
        """What comes from now on is passed as it is."""
        self._raw = True

    def pause_writing(self) -> None:
        self.other.pause_reading("the other side is slow")

    def resume_writing(self) -> None:
        self.other.resume_reading("the other side is slow")

    def pause_reading(self, reason: str) -> None:
        """Read no more until no reason is left not to."""
        self._reasons.add(reason)
        if self._inflow is not None and not self.gone:
            self._inflow.hold(reason)

    def resume_reading(self, reason: str) -> None:
        self._reasons.discard(reason)
        if self._inflow is not None and not self.gone:
            self._inflow.release(reason)

    def send(self, frames: list[bytes]) -> None:
        """Write frames with all others of this turn of the loop; none when nobody takes them any more."""
        if self.gone or (self.transport is not None and self.transport.is_closing()):
            return
        if not self._out:
            asyncio.get_running_loop().call_soon(self.flush)
        self._out += frames

    def flush(self) -> None:
        if self._out and self.transport is not None and not self.transport.is_closing():
            out, self._out = self._out, []
            self.transport.write(b"".join(out))

    def close(self) -> None:
        """Write what is to be written, and close."""
        self.flush()
        if self.transport is not None:
            self.transport.close()

    def abort(self) -> None:
        """Cut the connection at once."""
        if self.transport is not None:
            self.transport.abort()
