"""The activity log of an application, an entry for each message, in the application's own repository."""

from __future__ import annotations

import sqlite3

import msgspec

from sandbox.receiver import Arrival
from sandbox.repository import Repository
from schemas.error_codes import ErrorCode
from schemas.peek import Peek, peek
from schemas.sequence import SequenceError, body_of

_TABLE = """
CREATE TABLE IF NOT EXISTS deeds (
  row INTEGER PRIMARY KEY, time REAL NOT NULL, messageId TEXT, messageType TEXT, objectUUID TEXT, did TEXT
)
"""


class ActivityLogEntry(msgspec.Struct, frozen=True):
    """The effect of one message, or why it had none; ``time`` is in seconds since the epoch.

    What a refused message does not say is None.
    """

    row: int
    time: float
    message_id: str | None
    message_type: str | None
    object_uuid: str | None
    did: str


def make_table(store: sqlite3.Connection) -> None:
    store.execute(_TABLE)


def write_entry(store: sqlite3.Connection, arrival: Arrival, object_uuid: str, did: str, now: float) -> None:
    """Add an entry in the transaction of the work itself."""
    _write(store, arrival.header, object_uuid, did, now)


def write_refusal(store: sqlite3.Connection, data: bytes, code: ErrorCode, why: str, now: float) -> None:
    """Add an entry in the transaction that moves a message to the queue of ``code``."""
    make_table(store)
    _write(store, peek(data), _object_in(data), f"refused: {code} {' '.join(why.split())}", now)


def _write(store: sqlite3.Connection, seen: Peek, object_uuid: str | None, did: str, now: float) -> None:
    store.execute(
        "INSERT INTO deeds (time, messageId, messageType, objectUUID, did) VALUES (?, ?, ?, ?, ?)",
        (now, seen.message_id, seen.message_type, object_uuid, did),
    )


def _object_in(data: bytes) -> str | None:
    """The objectUUID of a message that may be anything."""
    try:
        body = msgspec.json.decode(body_of(data))
    except (SequenceError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    uuid = body.get("objectUUID") if isinstance(body, dict) else None
    return uuid if isinstance(uuid, str) else None


def entries_after(repository: Repository, row: int) -> list[ActivityLogEntry]:
    """The entries after the one with this ``row``, oldest first; 0 for all."""
    query = "SELECT row, time, messageId, messageType, objectUUID, did FROM deeds WHERE row > ? ORDER BY row"
    with repository.transaction() as store:
        make_table(store)
        return [ActivityLogEntry(*found) for found in store.execute(query, (row,))]
