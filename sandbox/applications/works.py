"""The works of a repository: every version that came, and which of them users see."""

from __future__ import annotations

import sqlite3
from typing import Any, Final

import msgspec

from schemas.versions import Told, VersionState, after_deletes, named_versions, places

JSON = dict[str, Any]

_TABLES: Final = """
CREATE TABLE IF NOT EXISTS versions (
  objectUUID TEXT PRIMARY KEY, work TEXT NOT NULL, object TEXT NOT NULL,
  current INTEGER NOT NULL, visible INTEGER NOT NULL, preserved TEXT
);
CREATE INDEX IF NOT EXISTS by_work ON versions (work);
CREATE TABLE IF NOT EXISTS words (objectUUID TEXT PRIMARY KEY, published REAL, deleted REAL);
CREATE TABLE IF NOT EXISTS follows (older TEXT NOT NULL, newer TEXT NOT NULL, PRIMARY KEY (older, newer));
CREATE INDEX IF NOT EXISTS by_newer ON follows (newer)
"""
_CONNECTED: Final = """
WITH RECURSIVE connected (uuid) AS (
  VALUES (?)
  UNION SELECT newer FROM follows JOIN connected ON older = uuid
  UNION SELECT older FROM follows JOIN connected ON newer = uuid
)
SELECT uuid, CASE WHEN versions.objectUUID IS NOT NULL THEN coalesce(published, 0) END, deleted FROM connected
LEFT JOIN versions ON versions.objectUUID = uuid LEFT JOIN words ON words.objectUUID = uuid
"""
"""Every version of a work, by the objectUUID of any; ``published`` is null for one known by name only."""
_PUT: Final = """
INSERT INTO versions (objectUUID, work, object, current, visible) VALUES (:uuid, :uuid, :object, 0, 0)
ON CONFLICT (objectUUID) DO UPDATE SET object = :object
"""
_PUBLISHED: Final = """
INSERT INTO words (objectUUID, published) VALUES (:uuid, :at)
ON CONFLICT (objectUUID) DO UPDATE SET published = :at
"""
_DELETED: Final = """
INSERT INTO words (objectUUID, deleted) VALUES (:uuid, :at)
ON CONFLICT (objectUUID) DO UPDATE SET deleted = max(coalesce(deleted, :at), :at)
"""
_decode: Final = msgspec.json.Decoder(JSON).decode


class Works:
    """In an application's own store; ``at`` is when a message was published, in seconds since the epoch.

    What a message says is settled by when it was published, so that one that comes late undoes nothing newer.
    """

    def __init__(self, store: sqlite3.Connection) -> None:
        self._store = store

    @staticmethod
    def make_tables(store: sqlite3.Connection) -> None:
        for statement in _TABLES.split(";"):
            store.execute(statement)

    def publish(self, uuid: str, body: JSON, at: float) -> VersionState:
        """Take a version of an object, or one that was there with what it holds now; where it stands."""
        named = named_versions(body)
        follows = [(older, uuid) for older in named.previous] + [(uuid, newer) for newer in named.following]
        self._store.executemany("INSERT OR IGNORE INTO follows VALUES (?, ?)", follows)
        told = self._told(uuid)
        at = after_deletes(at, told)
        before = next((each.published for each in told if each.uuid == uuid), None)
        if before is None or before <= at:
            self._store.execute(_PUT, {"uuid": uuid, "object": msgspec.json.encode(body)})
            self._store.execute(_PUBLISHED, {"uuid": uuid, "at": at})
        return self._settle(uuid)

    def delete(self, uuid: str, at: float) -> VersionState:
        """Hide the work of which this is a version, with all its versions; nothing is removed."""
        self._store.execute(_DELETED, {"uuid": uuid, "at": at})
        return self._settle(uuid)

    def knows(self, uuid: str) -> bool:
        """Whether there is a work of which this is a version, be it one known by name only."""
        return any(each.published is not None for each in self._told(uuid))

    def holds(self, uuid: str) -> bool:
        """Whether this very version is there, hidden or not."""
        return (
            self._store.execute("SELECT 1 FROM versions WHERE objectUUID = ?", (uuid,)).fetchone() is not None
        )

    def object(self, uuid: str) -> JSON | None:
        """What a version holds that is not hidden."""
        query = "SELECT object FROM versions WHERE objectUUID = ? AND visible"
        found = self._store.execute(query, (uuid,)).fetchone()
        return _decode(found[0]) if found else None

    def visible(self) -> dict[str, JSON]:
        """What regular users see: the current version of each work that is not hidden, by objectUUID."""
        query = "SELECT objectUUID, object FROM versions WHERE visible AND current ORDER BY rowid"
        return {uuid: _decode(text) for uuid, text in self._store.execute(query)}

    def preserve(self, uuid: str, package_uuid: str) -> bool:
        """Note the package of a version; whether it is there."""
        update = "UPDATE versions SET preserved = ? WHERE objectUUID = ?"
        return self._store.execute(update, (package_uuid, uuid)).rowcount > 0

    def _told(self, uuid: str) -> list[Told]:
        """What is known of every version of a work, by the objectUUID of any."""
        rows = self._store.execute(_CONNECTED, (uuid,)).fetchall()
        return [
            Told(known, published, deleted, self._followed_by(known)) for known, published, deleted in rows
        ]

    def _followed_by(self, uuid: str) -> tuple[str, ...]:
        """The versions that one is said to follow."""
        found = self._store.execute("SELECT older FROM follows WHERE newer = ?", (uuid,))
        return tuple(older for (older,) in found)

    def _settle(self, uuid: str) -> VersionState:
        found = places(self._told(uuid))
        rows = [(each.work, each.current, not each.deleted, each.uuid) for each in found.values()]
        self._store.executemany(
            "UPDATE versions SET work = ?, current = ?, visible = ? WHERE objectUUID = ?", rows
        )
        return found[uuid]
