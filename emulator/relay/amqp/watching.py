"""Watching a relayed connection from the client's side: what it sends, and what it gets, faults included."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

from emulator.amqp.wire.commands import Command
from emulator.diagnosis.lab_trace import WatchedClient


class Watcher(Protocol):
    """Sees one connection, on the event loop, before what it sees has any effect."""

    def note_from_client(self, command: Command) -> None: ...
    def note_to_client(self, command: Command) -> None: ...
    def note_cut(self) -> None:
        """Note that the relay cuts the connection."""

    def note_lost(self) -> None:
        """Note that the client's connection is no more."""


Watch: TypeAlias = Callable[[WatchedClient], Watcher]
"""Makes the watcher of a new connection."""
