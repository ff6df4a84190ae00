"""Whose turn it is: what a connection sent is worked on slice by slice, and others come in between."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final, Protocol, TypeAlias

from emulator.clock import stopwatch
from emulator.http.limits import TURN_SECONDS

Piece: TypeAlias = bytes | memoryview
_ITS_TURN: Final = "its turn"


class PausableTransport(Protocol):
    """What an ``Inflow`` needs of a transport."""

    def pause_reading(self) -> None: ...
    def resume_reading(self) -> None: ...
    def is_closing(self) -> bool: ...


class Turns:
    """The connections that have more to do than one slice: each does one, then the next one's turn has come.

    All of them together have ``TURN_SECONDS`` of each turn of the event loop, which serves everybody else
    in between.
    """

    def __init__(self) -> None:
        self._waiting: deque[Callable[[], None]] = deque()
        self._going = False

    def wait(self, proceed: Callable[[], None]) -> None:
        """Have ``proceed`` called when its turn has come."""
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
            # What fails for one connection must not take the others' turns.
            self._going = bool(self._waiting)
            if self._going:
                asyncio.get_running_loop().call_soon(self._go_round)


class Inflow:
    """What a connection has read and not yet worked on; ``take`` works on its beginning.

    ``take`` is given all there is, works on one slice of it and returns how many bytes that was; 0 when it
    needs more than there is. Nothing is read while something waits to be worked on, or is held.
    """

    __slots__ = ("_reasons", "_take", "_transport", "_turns", "_unread")

    def __init__(self, turns: Turns, transport: PausableTransport, take: Callable[[Piece], int]) -> None:
        self._turns = turns
        self._transport = transport
        self._take = take
        self._unread = bytearray()
        self._reasons: set[str] = set()

    @property
    def held(self) -> bool:
        """Whether something else than the client keeps it from being read."""
        return bool(self._reasons)

    def feed(self, data: Piece) -> None:
        """Work on what came, or keep it until its turn has come."""
        if self._reasons:
            # Not every event loop heeds a pause before it has handed over what it read.
            self._unread += data
        elif self._unread:
            self._unread += data
            self._work()
        elif (taken := self._take(data)) < len(data) and not self._transport.is_closing():
            self._unread += memoryview(data)[taken:]
            if taken:
                self._wait()

    def hold(self, reason: str) -> None:
        """Work on nothing, and read nothing, until every ``reason`` is gone."""
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

    def stop(self) -> None:
        """Work on nothing more: somebody else reads from now on."""
        self._unread = bytearray()
        self._take = len

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
        if taken and self._unread:
            self._wait()
