"""The application of a demonstration or a scenario: it records each message that it processes.

The table is in the receiver's own repository, so that processing and checkpoint
are one transaction. It has no unique key, so that a message processed twice is seen.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from sandbox.receiver import Arrival
from schemas.bound import CONTRACT

ARRIVALS = """
CREATE TABLE IF NOT EXISTS arrivals (
  row INTEGER PRIMARY KEY, messageId TEXT, parts INTEGER, body TEXT, time REAL
)
"""


@dataclass(frozen=True, slots=True)
class Processed:
    """A processed message: its body's SHA-256, its number of parts, its time in seconds since the epoch."""

    row: int
    message_id: str
    parts: int
    body: str
    time: float


def body_digest(data: bytes) -> str:
    """The SHA-256 of the body's text as written. Raises ValueError for bytes without a body."""
    return sha256(CONTRACT.body(data)).hexdigest()


def record_arrival(arrival: Arrival, store: sqlite3.Connection, now: float) -> None:
    """Record a message as processed, in the open transaction of ``store``; the table must exist."""
    row = (
        arrival.header.message_id,
        arrival.parts,
        body_digest(arrival.data),
        now,
    )
    store.execute("INSERT INTO arrivals (messageId, parts, body, time) VALUES (?, ?, ?, ?)", row)


class ArrivalsReader:
    """Reads each arrival in a repository's file once, after it is committed."""

    def __init__(self, path: Path) -> None:
        self._store = sqlite3.connect(path, isolation_level=None)
        self._store.execute("PRAGMA journal_mode=WAL")
        self._store.execute(ARRIVALS)
        self._last = 0

    def more(self) -> list[Processed]:
        """Read the arrivals that were committed since the last call, oldest first."""
        query = "SELECT row, messageId, parts, body, time FROM arrivals WHERE row > ? ORDER BY row"
        found = [Processed(*row) for row in self._store.execute(query, (self._last,))]
        if found:
            self._last = found[-1].row
        return found

    def close(self) -> None:
        self._store.close()
