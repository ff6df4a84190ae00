"""Turns: a connection's input is processed in slices, and other connections' slices come between them."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final, Protocol, TypeAlias

from emulator.clock import stopwatch
from emulator.http.bounds.client_limits import TURN_SECONDS

Piece: TypeAlias = bytes | memoryview
_ITS_TURN: Final = "its turn"


class PausableTransport(Protocol):
    """The part of a transport that an ``Inflow`` needs."""

    def pause_reading(self) -> None: ...
    def resume_reading(self) -> None: ...
    def is_closing(self) -> bool: ...


class Turns:
    """The connections that have more input than one slice. Each processes one slice in its turn.

    Together they get ``TURN_SECONDS`` of each turn of the event loop, which serves all else in between.
    """

    def __init__(self) -> None:
        self._waiting: deque[Callable[[], None]] = deque()
        self._going = False

    def wait(self, proceed: Callable[[], None]) -> None:
        """Call ``proceed`` when its turn has come."""
        self._waiting.append(proceed)
        if not self._going:
            self._going = True
            asyncio.get_running_loop().call_soon(self._go_round)

    def _go_round(self) -> None:
        until = stopwatch() + TURN_SECONDS
        try:
            while self._waiting and stopwatch() < until:
                self._waiting.popleft()()
        finally:
            # An error in one connection's slice must not end the turns of the others.
            self._going = bool(self._waiting)
            if self._going:
                asyncio.get_running_loop().call_soon(self._go_round)


class Inflow:
    """The input of a connection that is read and not yet processed.

    ``take`` gets all of it, processes one slice and returns that slice's length, or 0 when it needs more
    input. It may ``await_bytes`` with what it leaves, which has no turn then. The transport is paused while
    input waits for its turn or is held.
    """

    __slots__ = ("_awaited", "_reasons", "_take", "_transport", "_turns", "_unread")

    def __init__(self, turns: Turns, transport: PausableTransport, take: Callable[[Piece], int]) -> None:
        self._turns = turns
        self._transport = transport
        self._take = take
        self._unread = bytearray()
        self._reasons: set[str] = set()
        self._awaited = 0

    @property
    def held(self) -> bool:
        """Whether the connection is not read for a reason on our side."""
        return bool(self._reasons)

    def feed(self, data: Piece) -> None:
        """Process new input, or keep it until its turn has come."""
        if self._reasons:
            # Some event loops hand over what they have read even after a pause.
            self._unread += data
        elif self._unread:
            self._unread += data
            self._work()
        else:
            self._awaited = 0
            taken = self._take(data)
            if taken < len(data) and not self._transport.is_closing():
                self._unread += memoryview(data)[taken:]
                if taken and not self._awaited:
                    self._wait()

    def hold(self, reason: str) -> None:
        """Process nothing and read nothing until every ``reason`` is released."""
        if not self._reasons and not self._transport.is_closing():
            self._transport.pause_reading()
        self._reasons.add(reason)

    def release(self, reason: str) -> None:
        if reason not in self._reasons:
            return
        self._reasons.remove(reason)
        if self._reasons or self._transport.is_closing():
            return
        if self._unread:
            self._wait()
        else:
            self._transport.resume_reading()

    def end_turn(self) -> None:
        """Read nothing more before others had their turn: an event loop may read on while there is more."""
        if not self._reasons and not self._transport.is_closing():
            self._wait()

    def stop(self) -> None:
        """Drop all input from now on: the connection ends, or another protocol reads it."""
        self._unread = bytearray()
        self._take = len

    def await_bytes(self, size: int) -> None:
        """Have nothing done with what is left of the input until it has so many bytes."""
        self._awaited = size

    def keep(self, data: Piece) -> bool:
        """Keep new input that is not all that is awaited; return False, and keep nothing, of any other."""
        if self._reasons or len(self._unread) + len(data) >= self._awaited:
            return False
        self._unread += data
        return True

    def _wait(self) -> None:
        self.hold(_ITS_TURN)
        self._turns.wait(self._proceed)

    def _proceed(self) -> None:
        self._reasons.discard(_ITS_TURN)
        if not self._reasons:
            self._work()
            if not self._reasons and not self._transport.is_closing():
                self._transport.resume_reading()

    def _work(self) -> None:
        if self._transport.is_closing():
            self._unread = bytearray()
            return
        unread = self._unread
        self._awaited = 0
        with memoryview(unread) as view:
            taken = self._take(view)
        if self._unread is not unread:
            # Stopped meanwhile.
            return
        try:
            del unread[:taken]
        except BufferError:
            # An error that was raised on the way, and is kept, has hold of a piece.
            self._unread = unread[taken:]
        if taken and self._unread and not self._awaited:
            self._wait()
