"""A peer of a relayed connection: reads commands from its socket, and writes those for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, cast

from emulator.amqp.client_end import Address
from emulator.amqp.refusals import RefusedError
from emulator.amqp.wire.commands import Command, CommandReader, TooMuchError
from emulator.clock import stopwatch
from emulator.http.bounds.limits import SLICE_BYTES, SLICE_SECONDS
from emulator.http.bounds.turns import Inflow, Piece, Turns
from emulator.relay.amqp.end import End, Owner

_UNKNOWN: Final = ("", 0)
_PIECE_BYTES: Final = 512
"""Of a slice, before the time is looked at: 40 channels can be opened with it."""


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
        elif inflow is not None:
            self.owner.on_input(self, lambda: inflow.feed(data), inflow)

    def _take(self, data: Piece) -> int:
        """Process the commands of one slice; return the number of bytes consumed."""
        begun = 0
        view = memoryview(data)
        if not self._greeted:
            self._greeted = True
            begun = self.owner.on_greeting(self, bytes(data))
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
                if not piece or stopwatch() >= until:
                    break
        except RefusedError:
            self.owner.on_not_amqp(self, self.reader.unfinished + bytes(view))
            return len(data)
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

    def _write(self, commands: list[Command]) -> None:
        assert self.transport is not None
        self.transport.write(b"".join([frame for command in commands for frame in command.frames]))

    def close(self) -> None:
        self.flush()
        if self.transport is not None:
            self.transport.close()

    def abort(self) -> None:
        if self.transport is not None:
            self.transport.abort()
