"""What an application did, message by message, written where its other data is: for people to watch."""

from __future__ import annotations

import sqlite3

import msgspec

from sandbox.receiver import Arrival
from sandbox.repository import Repository

_TABLE = """
CREATE TABLE IF NOT EXISTS deeds (
  row INTEGER PRIMARY KEY, time REAL NOT NULL, messageId TEXT, messageType TEXT, objectUUID TEXT, did TEXT
)
"""


class ActivityLogEntry(msgspec.Struct, frozen=True):
    """One message's effect; ``time`` in seconds since the epoch."""

    row: int
    time: float
    message_id: str
    message_type: str
    object_uuid: str
    did: str


def make_table(store: sqlite3.Connection) -> None:
    store.execute(_TABLE)


def write_entry(store: sqlite3.Connection, arrival: Arrival, object_uuid: str, did: str, now: float) -> None:
    """Within the transaction in which it was done."""
    seen = arrival.header
    row = (now, seen.message_id, seen.message_type, object_uuid, did)
    store.execute(
        "INSERT INTO deeds (time, messageId, messageType, objectUUID, did) VALUES (?, ?, ?, ?, ?)", row
    )


def entries_after(repository: Repository, row: int) -> list[ActivityLogEntry]:
    """Those that were done since the deed of that row, oldest first; 0 for all."""
    query = "SELECT row, time, messageId, messageType, objectUUID, did FROM deeds WHERE row > ? ORDER BY row"
    with repository.transaction() as store:
        make_table(store)
        return [ActivityLogEntry(*found) for found in store.execute(query, (row,))]
