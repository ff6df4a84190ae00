"""The works of a repository: every received version, and the version that users see."""

from __future__ import annotations

import sqlite3
from typing import Any, Final

import msgspec

from schemas.rdss.versions import (
    Knowledge,
    VersionState,
    after_deletes,
    compute_version_states,
    named_versions,
)

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
"""Every version of a work, by any of its objectUUIDs; ``published`` is null for one known only by name."""
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
    """The works in an application's store; ``at`` is a message's publication in seconds since the epoch.

    The order of publication decides, not the order of arrival: a late message undoes nothing newer.
    """

    def __init__(self, store: sqlite3.Connection) -> None:
        self._store = store

    @staticmethod
    def make_tables(store: sqlite3.Connection) -> None:
        for statement in _TABLES.split(";"):
            store.execute(statement)

    def publish(self, uuid: str, body: JSON, at: float) -> VersionState:
        """Store a new or changed version of an object and return its state."""
        named = named_versions(body)
        follows = [(older, uuid) for older in named.previous] + [(uuid, newer) for newer in named.following]
        self._store.executemany("INSERT OR IGNORE INTO follows VALUES (?, ?)", follows)
        knowledge = self._known_versions(uuid)
        at = after_deletes(at, knowledge)
        before = next((each.published for each in knowledge if each.uuid == uuid), None)
        if before is None or before <= at:
            self._store.execute(_PUT, {"uuid": uuid, "object": msgspec.json.encode(body)})
            self._store.execute(_PUBLISHED, {"uuid": uuid, "at": at})
        return self._update_states(uuid)

    def delete(self, uuid: str, at: float) -> VersionState:
        """Hide the whole work of this version and return the version's state; nothing is removed."""
        self._store.execute(_DELETED, {"uuid": uuid, "at": at})
        return self._update_states(uuid)

    def knows(self, uuid: str) -> bool:
        """Whether this is a version of a stored work, even if the version itself is known only by name."""
        return any(each.published is not None for each in self._known_versions(uuid))

    def holds(self, uuid: str) -> bool:
        """Whether this version itself is stored, hidden or not."""
        return (
            self._store.execute("SELECT 1 FROM versions WHERE objectUUID = ?", (uuid,)).fetchone() is not None
        )

    def object(self, uuid: str) -> JSON | None:
        """The object of a version; None where it is unknown or hidden."""
        query = "SELECT object FROM versions WHERE objectUUID = ? AND visible"
        found = self._store.execute(query, (uuid,)).fetchone()
        return _decode(found[0]) if found else None

    def visible(self) -> dict[str, JSON]:
        """The current version of each work that is not hidden, by objectUUID: the view of regular users."""
        query = "SELECT objectUUID, object FROM versions WHERE visible AND current ORDER BY rowid"
        return {uuid: _decode(text) for uuid, text in self._store.execute(query)}

    def preserve(self, uuid: str, package_uuid: str) -> bool:
        """Record the package of a version; False where the version is not stored."""
        update = "UPDATE versions SET preserved = ? WHERE objectUUID = ?"
        return self._store.execute(update, (package_uuid, uuid)).rowcount > 0

    def _known_versions(self, uuid: str) -> list[Knowledge]:
        """Every version of a work, by any of its objectUUIDs."""
        rows = self._store.execute(_CONNECTED, (uuid,)).fetchall()
        return [
            Knowledge(known, published, deleted, self._followed_by(known))
            for known, published, deleted in rows
        ]

    def _followed_by(self, uuid: str) -> tuple[str, ...]:
        """The versions that a version replaces."""
        found = self._store.execute("SELECT older FROM follows WHERE newer = ?", (uuid,))
        return tuple(older for (older,) in found)

    def _update_states(self, uuid: str) -> VersionState:
        found = compute_version_states(self._known_versions(uuid))
        rows = [(each.work, each.current, not each.deleted, each.uuid) for each in found.values()]
        self._store.executemany(
            "UPDATE versions SET work = ?, current = ?, visible = ? WHERE objectUUID = ?", rows
        )
        return found[uuid]
