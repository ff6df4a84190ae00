"""Reads the rest of a long request body straight into its final buffer, past the HTTP parser.

Http1Protocol                               BodyReader
parses the head, sees a long Content-Length
transport.set_protocol(reader)  --------->  get_buffer: the kernel writes into the body itself
buffer_updated: grow, or complete
complete_from_reader(body)      <---------  complete(body)
transport.set_protocol(self), a new parser, and on to the next request
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

from emulator.http.asgi import NoRoomError
from emulator.http.bounds.body_memory import ARRIVING
from emulator.http.bounds.client_limits import BODY_AHEAD

Buffer: TypeAlias = bytes | bytearray | memoryview
_LEAST_BYTES = 1 << 14


class _Owner(Protocol):
    """The protocol that lends its transport."""

    def connection_lost(self, _exc: Exception | None) -> None: ...
    def pause_writing(self) -> None: ...
    def resume_writing(self) -> None: ...
    def no_room(self, error: NoRoomError) -> None:
        """Refuse the request."""


class BodyReader(asyncio.BufferedProtocol):
    """Fills a body of ``length`` bytes, which begins with the pieces ``come``, then calls ``complete``.

    Each byte is copied once, from the kernel, where the parser would copy it twice more. That saves a fifth
    of the cost of a PutRecords before the engine. Memory is taken as the body arrives, not as Content-Length
    promises, so a client cannot reserve memory by promises.
    """

    def __init__(
        self, owner: _Owner, come: Sequence[Buffer], length: int, complete: Callable[[bytearray], None]
    ) -> None:
        """Take memory for what has come. Raises NoRoomError."""
        self._owner = owner
        self._length = length
        self._complete = complete
        self._body = bytearray()
        self._view = memoryview(self._body)
        self._counted = 0
        self.filled = sum(map(len, come))
        self._grow(come)

    def get_buffer(self, _sizehint: int) -> memoryview:
        return self._view[self.filled :]

    def buffer_updated(self, nbytes: int) -> None:
        self.filled += nbytes
        if self.filled == self._length:
            body = self._body
            self.let_go()
            self._complete(body)
        elif self.filled == len(self._body):
            try:
                self._grow((self._body,))
            except NoRoomError as error:
                self._owner.no_room(error)

    def connection_lost(self, exc: Exception | None) -> None:
        self.let_go()
        self._owner.connection_lost(exc)

    def pause_writing(self) -> None:
        self._owner.pause_writing()

    def resume_writing(self) -> None:
        self._owner.resume_writing()

    def let_go(self) -> None:
        """Give up the memory: the body is complete, or its client has left."""
        ARRIVING.give_back(self._counted)
        self._counted = 0
        self._view.release()
        self._body = bytearray()

    def _grow(self, come: Sequence[Buffer]) -> None:
        size = min(self._length, max(BODY_AHEAD * self.filled, _LEAST_BYTES))
        if not ARRIVING.take(size - self._counted):
            raise NoRoomError
        self._counted = size
        body = bytearray(size)
        at = 0
        for piece in come:
            body[at : at + len(piece)] = piece
            at += len(piece)
        self._body, self._view = body, memoryview(body)
