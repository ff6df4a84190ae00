"""An institutional repository: keeps works, updates them, hides them, and answers who asks for one.

Specification, Messaging Receiving, Institutional Repositories.
"""

from __future__ import annotations

import sqlite3
from typing import Any

import msgspec

from emulator.clock import Clock
from sandbox.applications.deeds import make_table, write_deed
from sandbox.outbox import Outbox
from sandbox.receiver import ApplicationError, Arrival
from sandbox.repository import Repository
from sandbox.versions import previous_versions
from schemas.error_codes import ErrorCode
from schemas.sequence import body_of

JSON = dict[str, Any]

_TABLE = """
CREATE TABLE IF NOT EXISTS versions (
  objectUUID TEXT PRIMARY KEY, work TEXT NOT NULL, object TEXT NOT NULL,
  current INTEGER NOT NULL, visible INTEGER NOT NULL, preserved TEXT
);
CREATE INDEX IF NOT EXISTS by_work ON versions (work);
"""
_PUT = "REPLACE INTO versions (objectUUID, work, object, current, visible) VALUES (?, ?, ?, 1, 1)"
_decode = msgspec.json.Decoder(JSON).decode


class InstitutionalRepository:
    """Works with their versions, in the receiver's own repository; ``outbox`` takes the answers.

    A work is its versions' chain of isNewVersionOf; it is deleted as a whole, by the objectUUID of any of
    them, and deleted means hidden: nothing is removed, and nobody is answered with it any more.
    """

    def __init__(self, repository: Repository, outbox: Outbox, clock: Clock) -> None:
        self._repository = repository
        self._outbox = outbox
        self._clock = clock
        with repository.transaction() as store:
            for statement in _TABLE.split(";"):
                store.execute(statement)
            make_table(store)

    def __call__(self, arrival: Arrival, store: sqlite3.Connection, /) -> None:
        body = _decode(body_of(arrival.data))
        match arrival.header.message_type, arrival.header.message_class:
            case "MetadataCreate", _:
                did = self._create(store, body)
            case "MetadataUpdate", _:
                did = self._update(store, body)
            case "MetadataDelete", _:
                did = self._hide(store, body["objectUUID"])
            case "MetadataRead", "Document":
                did = "took note of an answer"
            case "MetadataRead", _:
                did = self._answer(store, arrival, body["objectUUID"])
            case _:
                did = self._note_preservation(store, body)
        write_deed(store, arrival, body["objectUUID"], did, self._clock.time())

    def visible(self) -> dict[str, JSON]:
        """What regular users see: the current version of each work that is not hidden, by objectUUID."""
        query = "SELECT objectUUID, object FROM versions WHERE visible AND current ORDER BY rowid"
        with self._repository.transaction() as store:
            return {uuid: _decode(text) for uuid, text in store.execute(query)}

    def _create(self, store: sqlite3.Connection, body: JSON) -> str:
        """An object that is there already is published anew, as after an outage, and seen again."""
        uuid = body["objectUUID"]
        known = _work_of(store, uuid)
        store.execute(_PUT, (uuid, known or uuid, msgspec.json.encode(body)))
        files = len(body.get("objectFile", ()))
        return f"{'replaced' if known else 'created'} a work with {files or 'no'} files"

    def _update(self, store: sqlite3.Connection, body: JSON) -> str:
        uuid, named = body["objectUUID"], previous_versions(body)
        works = [work for each in named or [uuid] if (work := _work_of(store, each)) is not None]
        if not works:
            unknown = " or ".join(named or [uuid])
            raise ApplicationError(ErrorCode.APPERRMET001, f"there is no object {unknown} to update")
        store.execute("UPDATE versions SET current = 0 WHERE work = ?", (works[0],))
        store.execute(_PUT, (uuid, works[0], msgspec.json.encode(body)))
        return f"updated the work {works[0]}"

    def _hide(self, store: sqlite3.Connection, uuid: str) -> str:
        work = _work_of(store, uuid)
        if work is None:
            raise ApplicationError(ErrorCode.APPERRMET002, f"there is no object {uuid} to delete")
        store.execute("UPDATE versions SET visible = 0 WHERE work = ?", (work,))
        return f"hid the work {work}"

    def _answer(self, store: sqlite3.Connection, arrival: Arrival, uuid: str) -> str:
        query = "SELECT object FROM versions WHERE objectUUID = ? AND visible"
        found = store.execute(query, (uuid,)).fetchone()
        if found is None:
            raise ApplicationError(ErrorCode.APPERRMET003, f"there is no object {uuid} to read")
        self._outbox.keep(
            "MetadataRead",
            _decode(found[0]),
            tenant=arrival.header.tenant or 0,
            message_class="Document",
            correlation_id=arrival.header.message_id,
        )
        return "answered with the object"

    def _note_preservation(self, store: sqlite3.Connection, body: JSON) -> str:
        update = "UPDATE versions SET preserved = ? WHERE objectUUID = ?"
        known = store.execute(update, (body["packageUUID"], body["objectUUID"])).rowcount
        return (
            f"took note of package {body['packageUUID']}{'' if known else ' of an object that is elsewhere'}"
        )


def _work_of(store: sqlite3.Connection, uuid: str) -> str | None:
    found = store.execute("SELECT work FROM versions WHERE objectUUID = ?", (uuid,)).fetchone()
    return found[0] if found else None
