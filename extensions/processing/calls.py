"""Calls to outside systems: decide whether to make a call, and record its outcome.

A message may be processed several times, but each of its calls succeeds once. A call is identified by an
operation and a key. The operation is the target, unless the route names another. The key comes from the
message, from the object that the message changes, or from the route.
"""

from __future__ import annotations

import sqlite3
from enum import StrEnum
from typing import Any, Final, NamedTuple

from emulator.patterns import Pattern
from extensions.processing.async_message_store import AsyncStore
from extensions.processing.processing_errors import ClaimLostError, LockedError, ValidationError
from extensions.processing.processing_parameters import Parameters
from extensions.processing.stored_messages import CALL_COLUMNS, CallRecord, Message
from rdss_sandbox.shapes.processing import CallState

CONFIRMATION: Final = "confirmation"
"""The operation under which the store keeps the confirmation of a message's end."""


class KeyKind(StrEnum):
    """What the key of a call is made from; a call with the same key is a repetition."""

    MESSAGE = "message"
    ENTITY = "entity"
    CUSTOM = "custom"


class CallVerdict(StrEnum):
    """The decision on a call that a route requests."""

    CALL = "call"
    REPEATED = "repeated"
    OUTDATED = "outdated"
    LEFT_OUT = "left out"


class CallDecision(NamedTuple):
    """A verdict with its reason, and the answer or business error of the earlier call, if there was one."""

    verdict: CallVerdict
    answer: bytes | None = None
    because: str = ""
    business_error: str | None = None


class CallName(NamedTuple):
    """The identity of a call."""

    operation: str
    key: str
    kind: KeyKind


class Calls:
    """The calls of all processes that share the store."""

    def __init__(self, store: AsyncStore, parameters: Parameters) -> None:
        self._store = store
        self._ways = parameters.ways
        self._skipped_targets = Pattern(parameters.skip_targets) if parameters.skip_targets else None

    def build_name(
        self, message: Message, target: str, kind: KeyKind, key: str | None, operation: str | None
    ) -> CallName:
        """Build the identity of a call. ``key`` is a whole custom key, or a suffix to a key of another kind.

        Raises ValidationError when the message or the route lacks a value that the key needs.
        """
        suffix = f"_{key}" if key else ""
        if kind is KeyKind.MESSAGE:
            return CallName(operation or target, f"{message.source}_{message.correlation}{suffix}", kind)
        if kind is KeyKind.ENTITY:
            return CallName(operation or target, self._entity_key(message) + suffix, kind)
        if not key:
            raise ValidationError(f"the call to {target} is to be known by a custom key; give one")
        return CallName(operation or target, key, kind)

    def prepare(self, message: Message, name: CallName, target: str) -> CallDecision:
        """Decide on a call; record it as PROCESSING when it must be made.

        Raises LockedError while another message makes a call with the same identity, and ClaimLostError when
        this worker no longer has the message.
        """
        if self._skipped_targets is not None and self._skipped_targets.found_in(target):
            return CallDecision(CallVerdict.LEFT_OUT, because=f"calls to {target} are switched off")
        with self._store.transaction() as store:
            if not self._store.is_at_step(message.number, message.step):
                raise ClaimLostError(message.number)
            mine = self.find(message.number, name.operation, name.key)
            if mine is not None and mine.state is CallState.OK:
                because = "it succeeded at an earlier attempt"
                return CallDecision(CallVerdict.REPEATED, mine.answer, because, mine.description)
            if name.kind is not KeyKind.MESSAGE and (newer := self._find_newer(message, name)) is not None:
                verdict = CallVerdict.OUTDATED if self._ways.obsolete_is_skipped else CallVerdict.LEFT_OUT
                return CallDecision(verdict, None, f"message {newer} is newer, and has made the same call")
            self._begin(store, message, name)
            return CallDecision(CallVerdict.CALL)

    def record_success(
        self, message: Message, name: CallName, answer: bytes, *, why: str | None = None
    ) -> None:
        """Record that a call was answered, so that it is never made again.

        It is recorded even if another worker has the message now. ``why`` is the business error that the
        system answered, if it did.
        """
        self._record_outcome(message, name, CallState.OK, why=why, answer=answer)

    def record_failure(self, message: Message, name: CallName, why: str) -> None:
        """Record that a call failed; the next attempt makes it again."""
        self._record_outcome(message, name, CallState.FAILED, why=why)

    def find(self, number: int, operation: str, key: str) -> CallRecord | None:
        """A call of a message; None when it was never begun."""
        query = f"SELECT {CALL_COLUMNS} FROM calls WHERE message = ? AND operation = ? AND key = ?"  # noqa: S608
        found = self._store.rows(query, number, operation, key)
        return _call_from_row(found[0]) if found else None

    def of_message(self, number: int) -> list[CallRecord]:
        """The calls of a message and its confirmation, in the order in which they began."""
        query = f"SELECT {CALL_COLUMNS} FROM calls WHERE message = ? ORDER BY began"  # noqa: S608 -- names of ours
        return [_call_from_row(row) for row in self._store.rows(query, number)]

    def give_up_stuck(self, number: int) -> None:
        """Mark the unfinished calls of a message FAILED, since the process that made them died.

        Their outcome is unknown, so the next attempt makes them again.
        """
        now = self._store.clock.time()
        with self._store.transaction() as store:
            store.execute(
                "UPDATE calls SET state = 'FAILED', failed = failed + 1, changed = ?, "
                "description = 'the process that made it is gone' "
                "WHERE message = ? AND state = 'PROCESSING' AND operation != ?",
                (now, number, CONFIRMATION),
            )

    def forget(self, number: int, *, confirmation_only: bool) -> None:
        """Delete the calls of a message, or its confirmation only, so that they are made again."""
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

    def _find_newer(self, message: Message, name: CallName) -> int | None:
        """The number of a newer message that makes this one obsolete; None when there is none."""
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

    def _record_outcome(
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


def _call_from_row(row: tuple[Any, ...]) -> CallRecord:
    fields = dict(zip(CallRecord.__struct_fields__, row, strict=True))
    return CallRecord(**fields | {"state": CallState(fields["state"])})
