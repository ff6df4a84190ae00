"""The activity log of an application, an entry for each message, in the application's own repository."""

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
_INSERT = "INSERT INTO deeds (time, messageId, messageType, objectUUID, did) VALUES (?, ?, ?, ?, ?)"


class ActivityLogEntry(msgspec.Struct, frozen=True):
    """The effect of one message; ``time`` is in seconds since the epoch."""

    row: int
    time: float
    message_id: str | None
    message_type: str | None
    object_uuid: str
    did: str


def make_table(store: sqlite3.Connection) -> None:
    store.execute(_TABLE)


def write_entry(store: sqlite3.Connection, arrival: Arrival, object_uuid: str, did: str, now: float) -> None:
    """Add an entry in the transaction of the work itself."""
    header = arrival.header
    store.execute(_INSERT, (now, header.message_id, header.message_type, object_uuid, did))


def entries_after(repository: Repository, row: int) -> list[ActivityLogEntry]:
    """The entries after the one with this ``row``, oldest first; 0 for all."""
    query = "SELECT row, time, messageId, messageType, objectUUID, did FROM deeds WHERE row > ? ORDER BY row"
    with repository.transaction() as store:
        make_table(store)
        return [ActivityLogEntry(*found) for found in store.execute(query, (row,))]
