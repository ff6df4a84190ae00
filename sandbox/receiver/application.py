"""What a receiver hands whole messages to."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from schemas.envelope import Peek
from schemas.error_codes import ErrorCode


@dataclass(frozen=True, slots=True)
class Arrival:
    """A valid message in one piece: its bytes, what its header says, and of how many parts it came."""

    data: bytes
    header: Peek
    parts: int


class ApplicationError(Exception):
    """The application cannot process a message, for a reason that has a code (APPERRMET001 and so on)."""

    def __init__(self, code: ErrorCode, description: str) -> None:
        super().__init__(description)
        self.code = code


Refused: TypeAlias = Callable[[Arrival, ErrorCode, str], None]
"""Is told of a message that the application refused, and why, in the transaction that rejects it."""


class Application(Protocol):
    """Processes one message.

    What it writes through ``store`` is committed together with the message's status and the shard's
    checkpoint, or not at all: processed exactly once. What it raises rejects the message:
    ``ApplicationError`` with its code, a failure of a disk, a network or the store (``OSError``,
    ``sqlite3.Error``) as GENERR006, anything else as GENERR009; and as GENERR008 when what it wrote cannot
    be undone, because it ended the transaction itself.
    """

    def __call__(self, arrival: Arrival, store: sqlite3.Connection, /) -> None: ...
