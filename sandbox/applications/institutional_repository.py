"""An institutional repository: it stores, updates and hides works, and answers requests for them.

Specification, Messaging Receiving, Institutional Repositories.
"""

from __future__ import annotations

import sqlite3
from typing import Any

from emulator.clock import Clock
from sandbox.applications.activity_log import make_table, write_entry
from sandbox.applications.message_bodies import body_in, uuid_in
from sandbox.applications.works import Works
from sandbox.gateway.addresses import UnknownAddressError
from sandbox.gateway.outbox import Outbox
from sandbox.receiver import ApplicationError, Arrival
from sandbox.repository import Repository
from schemas.contract import LONGEST_WHY, Code
from schemas.message_timestamps import instant
from schemas.rdss.error_codes import ErrorCode
from schemas.rdss.peek import peek, return_address
from schemas.rdss.versions import VersionState, named_versions

JSON = dict[str, Any]


class InstitutionalRepository:
    """Stores works with their versions in the receiver's repository; answers go through ``outbox``.

    A work is the chain of its versions by isNewVersionOf and isPreviousVersionOf. A delete of any version
    hides the whole work: nothing is removed, but requests for it are refused. An answer goes to the
    returnAddress of the request.
    """

    def __init__(self, repository: Repository, outbox: Outbox, clock: Clock) -> None:
        self._repository = repository
        self._outbox = outbox
        self._clock = clock
        with repository.transaction() as store:
            Works.make_tables(store)
            make_table(store)

    def __call__(self, arrival: Arrival, store: sqlite3.Connection, /) -> None:
        works, body = Works(store), body_in(arrival)
        uuid = uuid_in(body, "objectUUID")
        match arrival.header.message_type, peek(arrival.data).message_class:
            case "MetadataCreate", _:
                did = self._create(works, arrival, uuid, body)
            case "MetadataUpdate", _:
                did = self._update(works, arrival, uuid, body)
            case "MetadataDelete", _:
                did = self._hide(works, arrival, uuid)
            case "MetadataRead", _ if not _asks(arrival):
                did = "took note of an answer"
            case "MetadataRead", _:
                did = self._answer(works, arrival, uuid)
            case _:
                did = self._note_preservation(works, uuid, uuid_in(body, "packageUUID"))
        write_entry(store, arrival, uuid, did, self._clock.time())

    def visible(self) -> dict[str, JSON]:
        """The current version of each work that is not hidden, by objectUUID: the view of regular users."""
        with self._repository.transaction() as store:
            return Works(store).visible()

    def refuse(self, arrival: Arrival, code: Code, why: str, /) -> None:
        """Answer a failed request with its error, so that the requester need not wait for the time-out.

        The answer is an Event, since only a Document holds an object. It has the request's body, the
        errorCode and errorDescription, and the messageId of the request as its correlationId.
        """
        if arrival.header.message_type != "MetadataRead" or not _asks(arrival):
            return
        try:
            asked = {"objectUUID": uuid_in(body_in(arrival), "objectUUID")}
        except ApplicationError:
            return  # without an objectUUID, there is no valid answer
        address, error = return_address(arrival.data), (code, why[:LONGEST_WHY])
        try:
            self._send_answer(arrival, asked, to=address, error=error)
        except UnknownAddressError:
            self._send_answer(arrival, asked, to=None, error=error)

    def _create(self, works: Works, arrival: Arrival, uuid: str, body: JSON) -> str:
        """Create a work. A known object is published again, as after an outage, and becomes visible."""
        known = works.holds(uuid)
        place = works.publish(uuid, body, self._publication_time(arrival))
        if not place.current:
            return _describe_filing(place)
        files = body.get("objectFile")
        count = len(files) if isinstance(files, list) else 0
        return f"{'replaced' if known else 'created'} a work with {count or 'no'} files"

    def _update(self, works: Works, arrival: Arrival, uuid: str, body: JSON) -> str:
        named = named_versions(body)
        if not any(works.knows(each) for each in (*named.previous, *named.following, uuid)):
            unknown = " or ".join(named.previous or (uuid,))
            raise ApplicationError(ErrorCode.APPERRMET001, f"there is no object {unknown} to update")
        place = works.publish(uuid, body, self._publication_time(arrival))
        return f"updated the work {place.work}" if place.current else _describe_filing(place)

    def _hide(self, works: Works, arrival: Arrival, uuid: str) -> str:
        if not works.knows(uuid):
            raise ApplicationError(ErrorCode.APPERRMET002, f"there is no object {uuid} to delete")
        place = works.delete(uuid, self._publication_time(arrival))
        return f"hid the work {place.work}" if place.deleted else f"kept the work {place.work}: it is newer"

    def _answer(self, works: Works, arrival: Arrival, uuid: str) -> str:
        found = works.object(uuid)
        if found is None:
            raise ApplicationError(ErrorCode.APPERRMET003, f"there is no object {uuid} to read")
        try:
            self._send_answer(arrival, found, to=return_address(arrival.data))
        except UnknownAddressError as error:
            raise ApplicationError(ErrorCode.GENERR004, str(error)) from error
        return "answered with the object"

    def _send_answer(
        self, arrival: Arrival, body: JSON, *, to: str | None, error: tuple[Code, str] | None = None
    ) -> None:
        self._outbox.keep(
            "MetadataRead",
            body,
            tenant=peek(arrival.data).tenant or 0,
            message_class="Event" if error else "Document",
            correlation_id=arrival.header.message_id,
            error=error,
            to=to,
        )

    def _note_preservation(self, works: Works, uuid: str, package_uuid: str) -> str:
        known = works.preserve(uuid, package_uuid)
        return f"took note of package {package_uuid}{'' if known else ' of an object that is elsewhere'}"

    def _publication_time(self, arrival: Arrival) -> float:
        found = instant(arrival.header.published) if arrival.header.published else None
        return self._clock.time() if found is None else found


def _asks(arrival: Arrival) -> bool:
    """Whether a MetadataRead is a request, and not an answer or an error answer."""
    return peek(arrival.data).message_class != "Document" and arrival.header.error_code is None


def _describe_filing(place: VersionState) -> str:
    return f"filed an older version of the work {place.work}"
