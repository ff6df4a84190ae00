"""One end of a relayed connection, as the other end and the session use it."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Protocol

from emulator.amqp.wire.commands import Command, TooMuchError
from emulator.http.bounds.turns import Inflow
from emulator.relay.amqp.watching import Watcher


class Owner(Protocol):
    """The session of an end."""

    def on_input(self, end: End, work: Callable[[], None], inflow: Inflow | None = None) -> None:
        """Do the ``work`` that comes of input, and write what comes of that."""

    def on_greeting(self, end: End, data: bytes) -> int:
        """Handle the first bytes; return how many of them are not frames."""

    @property
    def is_gathering(self) -> bool:
        """Whether the owner will have the ends flushed in this turn of the event loop."""

    def on_commands(self, end: End, received: list[Command]) -> None: ...
    def on_not_amqp(self, end: End, data: bytes) -> None: ...
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
        self._out: list[Command] = []
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
    def _write(self, commands: list[Command]) -> None: ...
    def pass_raw(self) -> None:
        """Pass all further bytes unread."""
        self.is_raw = True

    def send(self, command: Command) -> None:
        """Write a command together with all others of this turn of the event loop; drop it after a close."""
        if self.is_closing:
            return
        if self.watcher is not None:
            self.watcher.note_to_client(command.frames)
        if not self._out and not self.owner.is_gathering:
            self.flush_soon()
        self._out.append(command)

    def send_bytes(self, data: bytes) -> None:
        """Write bytes that are no command."""
        self.send(Command(0, 0, [data]))

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
