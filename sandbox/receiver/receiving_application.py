"""The interface of the application that processes a receiver's messages."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias, runtime_checkable

from schemas.contract import Code, Peek


@dataclass(frozen=True, slots=True)
class Arrival:
    """A whole valid message: its bytes, what it says of itself, and the number of parts it came in."""

    data: bytes
    header: Peek
    parts: int


class ApplicationError(Exception):
    """The application cannot process a message; ``code`` is the error code of the reason."""

    def __init__(self, code: Code, description: str) -> None:
        super().__init__(description)
        self.code = code


Refused: TypeAlias = Callable[[Arrival, Code, str], None]
"""Called with a refused message, its code and the reason, in the transaction that rejects it."""


class Application(Protocol):
    """Processes one message exactly once.

    Its writes through ``store`` are committed together with the message's status and the shard's checkpoint,
    or not at all. An exception rejects the message: ``ApplicationError`` with its own code; ``OSError`` and
    ``sqlite3.Error`` (disk, network, store) with the code of the system's failures; any other with that of
    unknown ones. If the application ended the transaction itself, so that its writes cannot be rolled back,
    the code is that of a failed roll-back (``Failures``).
    """

    def __call__(self, arrival: Arrival, store: sqlite3.Connection, /) -> None: ...


@runtime_checkable
class PreparingApplication(Application, Protocol):
    """An application whose slow work comes before the transaction, on a thread for each shard.

    The messages of a shard are prepared and processed in order, those of other shards at the same time; one
    message never twice at the same time. ``prepare`` comes again after a crash, so what it leaves must be the
    same however often it is called. Its exceptions reject the message as those of the call do.
    """

    def prepare(self, arrival: Arrival, /) -> None: ...
