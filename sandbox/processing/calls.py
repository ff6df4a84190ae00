"""Calls to outside systems: whether one is to be made, has been made, or is no longer worth making.

A message is processed several times, and its calls are made once. A call is known by its operation, which is
the target unless the route says otherwise, and by a key: of the message, of the object that the message
changes, or one that the route gives.
"""

from __future__ import annotations

import sqlite3
from enum import StrEnum
from typing import Final, NamedTuple

from emulator.patterns import Pattern
from sandbox.processing.errors import ClaimLostError, LockedError, ValidationError
from sandbox.processing.parameters import Parameters
from sandbox.processing.records import CALL_COLUMNS, CallRecord, Message
from sandbox.processing.states import CallState
from sandbox.processing.store import Store

CONFIRMATION: Final = "confirmation"
"""The operation under which the confirmation of a message's end is written down."""


class KeyKind(StrEnum):
    """What a call is checked for repetition by."""

    MESSAGE = "message"
    ENTITY = "entity"
    CUSTOM = "custom"


class Verdict(StrEnum):
    """What is to become of a call that a route wants to make."""

    CALL = "call"
    REPEATED = "repeated"
    OUTDATED = "outdated"
    LEFT_OUT = "left out"


class Prepared(NamedTuple):
    """The verdict, and what was answered when the call was made before, if only that it made no sense."""

    verdict: Verdict
    answer: bytes | None = None
    because: str = ""
    business_error: str | None = None


class CallName(NamedTuple):
    """By what a call is known."""

    operation: str
    key: str
    kind: KeyKind


class Calls:
    """The calls in the store, of every process."""

    def __init__(self, store: Store, parameters: Parameters) -> None:
        self._store = store
        self._ways = parameters.ways
        self._skipped = Pattern(parameters.skip_targets) if parameters.skip_targets else None

    def name(
        self, message: Message, target: str, kind: KeyKind, key: str | None, operation: str | None
    ) -> CallName:
        """What a call is known by; ``key`` is the whole of a custom key, and a suffix to the others.

        Raises ValidationError where the message or the route does not give what the key is made of.
        """
        suffix = f"_{key}" if key else ""
        if kind is KeyKind.MESSAGE:
            return CallName(operation or target, f"{message.source}_{message.correlation}{suffix}", kind)
        if kind is KeyKind.ENTITY:
            return CallName(operation or target, self._entity_key(message) + suffix, kind)
        if not key:
            raise ValidationError(f"the call to {target} is to be known by a custom key; give one")
        return CallName(operation or target, key, kind)

    def prepare(self, message: Message, name: CallName, target: str) -> Prepared:
        """Decide, and write a call that is to be made down as PROCESSING.

        Raises LockedError while a call of the same name is being made, ClaimLostError when the message is in
        other hands.
        """
        if self._skipped is not None and self._skipped.found_in(target):
            return Prepared(Verdict.LEFT_OUT, because=f"calls to {target} are switched off")
        with self._store.transaction() as store:
            if not self._store.still_held(message.number, message.step):
                raise ClaimLostError(message.number)
            mine = self.find(message.number, name.operation, name.key)
            if mine is not None and mine.state is CallState.OK:
                because = "it succeeded at an earlier attempt"
                return Prepared(Verdict.REPEATED, mine.answer, because, mine.description)
            if name.kind is not KeyKind.MESSAGE and (newer := self._newer(message, name)) is not None:
                verdict = Verdict.OUTDATED if self._ways.obsolete_is_skipped else Verdict.LEFT_OUT
                return Prepared(verdict, None, f"message {newer} is newer, and has made the same call")
            self._begin(store, message, name)
            return Prepared(Verdict.CALL)

    def succeeded(self, message: Message, name: CallName, answer: bytes, *, why: str | None = None) -> None:
        """The call was made and answered: it is never made again, whoever has the message now.

        ``why``: a business error that was the answer.
        """
        self._end(message, name, CallState.OK, why=why, answer=answer)

    def failed(self, message: Message, name: CallName, why: str) -> None:
        """The call failed: the next attempt makes it again."""
        self._end(message, name, CallState.FAILED, why=why)

    def find(self, number: int, operation: str, key: str) -> CallRecord | None:
        """One call of a message."""
        query = f"SELECT {CALL_COLUMNS} FROM calls WHERE message = ? AND operation = ? AND key = ?"  # noqa: S608
        found = self._store.rows(query, number, operation, key)
        return _record(found[0]) if found else None

    def of(self, number: int) -> list[CallRecord]:
        """The calls of a message, and its confirmation, in the order in which they began."""
        query = f"SELECT {CALL_COLUMNS} FROM calls WHERE message = ? ORDER BY began"  # noqa: S608 -- names of ours
        return [_record(row) for row in self._store.rows(query, number)]

    def give_up_stuck(self, number: int) -> None:
        """The process that made calls of this message is gone: nobody knows how they went, so they FAILED."""
        now = self._store.clock.time()
        with self._store.transaction() as store:
            store.execute(
                "UPDATE calls SET state = 'FAILED', failed = failed + 1, changed = ?, "
                "description = 'the process that made it is gone' "
                "WHERE message = ? AND state = 'PROCESSING' AND operation != ?",
                (now, number, CONFIRMATION),
            )

    def forget(self, number: int, *, confirmation_only: bool) -> None:
        """Have the calls of a message made anew, or its end alone confirmed anew."""
        only = " AND operation = ?" if confirmation_only else ""
        values = (number, CONFIRMATION) if confirmation_only else (number,)
        with self._store.transaction() as store:
            store.execute(f"DELETE FROM calls WHERE message = ?{only}", values)  # noqa: S608 -- text of ours

    def _entity_key(self, message: Message) -> str:
        if not message.object_id:
            raise ValidationError(
                f"message {message.number} has no object id, which a call known by its object needs; "
                "set it when the message is received"
            )
        if self._ways.entity_by_operation:
            return f"{message.entity}_{message.object_id}"
        return f"{message.entity_type}_{message.object_id}" if message.entity_type else message.object_id

    def _newness(self, message: Message) -> float:
        return message.received if self._ways.newer_by_receipt else message.timestamp

    def _newer(self, message: Message, name: CallName) -> int | None:
        """The number of a newer message that makes this one obsolete."""
        newness = self._newness(message)
        if self._ways.only_success_outdates:
            query = (
                "SELECT message FROM calls WHERE operation = ? AND key = ? AND state = 'OK' "
                "AND newness >= ? AND (newness > ? OR message > ?) LIMIT 1"
            )
        else:
            query = (
                "SELECT message FROM calls WHERE operation = ? AND key = ? AND state != 'PROCESSING' "
                "AND newness >= ? AND (newness > ? OR (state = 'OK' AND message != ?)) LIMIT 1"
            )
        values = (name.operation, name.key, newness, newness, message.number)
        found = self._store.rows(query, *values)
        return int(found[0][0]) if found else None

    def _begin(self, store: sqlite3.Connection, message: Message, name: CallName) -> None:
        now = self._store.clock.time()
        begun = (message.number, name.operation, name.key, now, now, self._newness(message))
        busy = "SELECT message FROM calls WHERE operation = ? AND key = ? AND state = 'PROCESSING'"
        if found := store.execute(busy, (name.operation, name.key)).fetchone():
            raise LockedError(f"message {found[0]} is making the call {name.operation} {name.key} just now")
        store.execute(
            "INSERT INTO calls (message, operation, key, began, changed, newness, state, failed) "
            "VALUES (?, ?, ?, ?, ?, ?, 'PROCESSING', 0) ON CONFLICT (message, operation, key) DO UPDATE "
            "SET state = 'PROCESSING', changed = excluded.changed",
            begun,
        )

    def _end(
        self,
        message: Message,
        name: CallName,
        state: CallState,
        *,
        why: str | None = None,
        answer: bytes | None = None,
    ) -> None:
        update = (
            "UPDATE calls SET state = ?, failed = failed + ?, changed = ?, description = ?, answer = ? "
            "WHERE message = ? AND operation = ? AND key = ? "
            "AND (state != 'OK' AND ? OR state = 'PROCESSING')"
        )
        succeeded = state is CallState.OK
        outcome = (state, not succeeded, self._store.clock.time(), why, answer)
        with self._store.transaction() as store:
            store.execute(update, (*outcome, message.number, name.operation, name.key, succeeded))


def _record(row: tuple[object, ...]) -> CallRecord:
    fields = list(row)
    fields[3] = CallState(str(fields[3]))
    return CallRecord(*fields)  # type: ignore[arg-type] # the columns are the fields
