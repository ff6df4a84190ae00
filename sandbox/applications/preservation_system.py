"""A preservation system: it packages each object with its files and publishes an event for it.

Specification, Messaging Receiving, Preservation Systems.
"""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path
from typing import Any, Final
from uuid import UUID, uuid5

from emulator.clock import Clock
from sandbox.applications.activity_log import make_table, write_entry
from sandbox.applications.message_bodies import body_in, files_in, uuid_in
from sandbox.applications.package import write_package
from sandbox.download.download import Downloads
from sandbox.download.download_errors import DownloadError, WrongChecksumError
from sandbox.gateway.outbox import Outbox
from sandbox.receiver import ApplicationError, Arrival
from sandbox.repository import Repository
from schemas.bound import CONTRACT
from schemas.rdss.error_codes import ErrorCode
from schemas.rdss.peek import peek
from schemas.rdss.sequence import body_of

JSON = dict[str, Any]

_NAMESPACE: Final = UUID("c3a1f9c4-2f3e-5b7b-9d6b-6a0f6c1f2d37")
_PACKAGED: Final = frozenset({"MetadataCreate", "MetadataUpdate"})
_TABLE: Final = """
CREATE TABLE IF NOT EXISTS packages (
  packageUUID TEXT PRIMARY KEY, objectUUID TEXT NOT NULL, files INTEGER NOT NULL, deleteRequested TEXT
)
"""


class PreservationSystem:
    """Writes packages to a folder, with a row for each in the receiver's repository.

    A message is processed when its files are fetched and packaged. ``prepare`` does that ahead of the
    transaction; a caller that does not ask for it has it done within. After a crash, the message is prepared
    again and its downloads are resumed. A file that cannot be fetched rejects the message with the code of
    the download. A delete flags the packages of the object and removes nothing.
    """

    def __init__(
        self,
        repository: Repository,
        outbox: Outbox,
        downloads: Downloads,
        packages: Path,
        clock: Clock,
    ) -> None:
        self._outbox = outbox
        self._downloads = downloads
        self._packages = packages
        self._clock = clock
        with repository.transaction() as store:
            store.execute(_TABLE)
            make_table(store)

    def prepare(self, arrival: Arrival, /) -> None:
        """Make the package of a message, unless it is there."""
        if arrival.header.message_type not in _PACKAGED:
            return
        body = body_in(arrival)
        package_uuid = _package_uuid(arrival, uuid_in(body, "objectUUID"))
        target = self.package_path(package_uuid)
        if target.exists():
            return
        try:
            fetched = [(file.place, self._downloads.fetch(file, package_uuid)) for file in files_in(body)]
        except DownloadError as error:
            wrong = isinstance(error, WrongChecksumError)
            code = ErrorCode.APPERRMET004 if wrong else CONTRACT.failures.system
            raise ApplicationError(code, str(error)) from error
        write_package(target, body_of(arrival.data), fetched, self._clock.now())
        if fetched:
            shutil.rmtree(fetched[0][1].parents[1])

    def __call__(self, arrival: Arrival, store: sqlite3.Connection, /) -> None:
        body = body_in(arrival)
        uuid = uuid_in(body, "objectUUID")
        match arrival.header.message_type:
            case kind if kind in _PACKAGED:
                self.prepare(arrival)
                did = self._preserve(store, arrival, uuid, body)
            case "MetadataDelete":
                did = self._flag(store, arrival, uuid)
            case kind:
                did = f"took no notice of a {kind}"
        write_entry(store, arrival, uuid, did, self._clock.time())

    def package_path(self, package_uuid: str) -> Path:
        return self._packages / f"{package_uuid}.zip"

    def _preserve(self, store: sqlite3.Connection, arrival: Arrival, object_uuid: str, body: JSON) -> str:
        files, package_uuid = files_in(body), _package_uuid(arrival, object_uuid)
        store.execute("REPLACE INTO packages VALUES (?, ?, ?, NULL)", (package_uuid, object_uuid, len(files)))
        self._publish_event(arrival, object_uuid, package_uuid, len(files))
        return f"made package {package_uuid} with {len(files) or 'no'} files"

    def _publish_event(self, arrival: Arrival, object_uuid: str, package_uuid: str, files: int) -> None:
        event = {
            "preservationEventValue": package_uuid,
            "preservationEventType": "informationPackageCreation",
            "preservationEventDetail": f"metadata and {files} files, their checksums verified",
        }
        package = {
            "objectUUID": object_uuid,
            "packageUUID": package_uuid,
            "packageType": "AIP",
            "packageContainerType": "zip",
            "packagePreservationEvent": event,
        }
        self._outbox.keep(
            "PreservationEvent", package, tenant=peek(arrival.data).tenant or 0, message_class="Event"
        )

    def _flag(self, store: sqlite3.Connection, arrival: Arrival, object_uuid: str) -> str:
        flag = "UPDATE packages SET deleteRequested = ? WHERE objectUUID = ?"
        flagged = store.execute(flag, (arrival.header.message_id, object_uuid)).rowcount
        return f"flagged {flagged} packages: their delete was requested" if flagged else "ignored a delete"


def _package_uuid(arrival: Arrival, object_uuid: str) -> str:
    """Derived from the message, so that a repeated attempt makes the same package."""
    return str(uuid5(_NAMESPACE, f"{arrival.header.message_id} {object_uuid}"))
