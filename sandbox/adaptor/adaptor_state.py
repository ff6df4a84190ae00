"""An adaptor's state in its local data repository: the watermark and the state of each item."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from sandbox.adaptor.known import Known
from sandbox.adaptor.mapping_file import Watermark
from sandbox.repository import Repository

JSON = dict[str, Any]

_TABLES: Final = (
    "CREATE TABLE IF NOT EXISTS adapted (id TEXT PRIMARY KEY, objectUUID TEXT, digest TEXT, published INT)",
    "CREATE TABLE IF NOT EXISTS unmapped (id TEXT PRIMARY KEY, item TEXT NOT NULL, why TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS watermark (one INTEGER PRIMARY KEY CHECK (one = 1), value TEXT NOT NULL)",
)
_decode = msgspec.json.decode
_encode = msgspec.json.encode


@dataclass(frozen=True, slots=True)
class Unmapped:
    """An item that could not be mapped to a message, and the reason; it is kept until it can.

    ``why`` begins with the error code that its message would have got.
    """

    id: str
    item: JSON
    why: str


class AdaptorState:
    """The adaptor's tables in its repository; methods with ``store`` work in the caller's transaction."""

    def __init__(self, repository: Repository) -> None:
        self.repository = repository
        with repository.transaction() as store:
            for table in _TABLES:
                store.execute(table)

    def watermark(self) -> Watermark | None:
        """The highest modification mark that was read; None before the first poll."""
        with self.repository.transaction() as store:
            found = store.execute("SELECT value FROM watermark").fetchone()
        value: Watermark | None = _decode(found[0]) if found else None
        return value

    def advance(self, value: Watermark) -> None:
        with self.repository.transaction() as store:
            store.execute("REPLACE INTO watermark VALUES (1, ?)", (_encode(value).decode(),))

    def find_known(self, store: sqlite3.Connection, item_id: str) -> Known | None:
        """The last published state of an item."""
        query = "SELECT objectUUID, digest, published FROM adapted WHERE id = ?"
        found = store.execute(query, (item_id,)).fetchone()
        return Known(found[0], found[1], bool(found[2])) if found else None

    def save_known(self, store: sqlite3.Connection, item_id: str, known: Known) -> None:
        row = (item_id, known.object_uuid, known.digest, known.published)
        store.execute("REPLACE INTO adapted VALUES (?, ?, ?, ?)", row)

    def unmapped(self) -> list[Unmapped]:
        """The items that could not be mapped so far."""
        with self.repository.transaction() as store:
            rows = store.execute("SELECT id, item, why FROM unmapped ORDER BY rowid").fetchall()
        return [Unmapped(item_id, _decode(item), why) for item_id, item, why in rows]

    def keep_unmapped(self, store: sqlite3.Connection, unmapped: Unmapped) -> bool:
        """Keep an unmapped item and return whether the reason is new."""
        before = store.execute("SELECT why FROM unmapped WHERE id = ?", (unmapped.id,)).fetchone()
        row = (unmapped.id, _encode(unmapped.item).decode(), unmapped.why)
        store.execute("REPLACE INTO unmapped VALUES (?, ?, ?)", row)
        return before is None or before[0] != unmapped.why

    def forget_unmapped(self, store: sqlite3.Connection, item_id: str) -> None:
        store.execute("DELETE FROM unmapped WHERE id = ?", (item_id,))
