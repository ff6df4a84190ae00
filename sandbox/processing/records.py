"""What the store keeps: messages, the changes of their states, calls."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from sandbox.processing.states import CallState, State
from sandbox.processing.transitions import Cause


class Binding(StrEnum):
    """What a child means to its parent: HARD decides how the parent ends, SOFT does not."""

    HARD = "HARD"
    SOFT = "SOFT"


class NewMessage(msgspec.Struct, frozen=True, kw_only=True):
    """What a source system hands over.

    ``source``, ``correlation`` and ``timestamp`` (seconds since the epoch) are its trace header and
    mandatory; ``funnel`` groups messages of which one is processed at a time; ``guaranteed_order`` has those
    of a funnel processed in the order of their timestamps, behind one that FAILED only
    ``without_failed``.
    """

    service: str
    operation: str
    body: bytes = b""
    source: str | None = None
    correlation: str | None = None
    timestamp: float | None = None
    process: str | None = None
    object_id: str | None = None
    entity_type: str | None = None
    funnel: str | None = None
    guaranteed_order: bool = False
    without_failed: bool = False


class Message(msgspec.Struct, frozen=True):
    """A message as it is in the store; times in seconds since the epoch.

    ``step`` counts its changes. ``owner`` is the process that has it, until ``lease``. ``due`` is when it may
    be taken up again. ``failed`` counts the attempts that failed.
    """

    number: int
    source: str
    correlation: str
    process: str | None
    service: str
    operation: str
    object_id: str | None
    entity_type: str | None
    funnel: str | None
    funnel_component: str | None
    guaranteed_order: bool
    without_failed: bool
    timestamp: float
    received: float
    started: float
    changed: float
    state: State
    step: int
    failed: int
    error_code: str | None
    description: str | None
    business_errors: tuple[str, ...]
    custom_data: str | None
    answer: bytes | None
    parent: int | None
    position: int | None
    binding: Binding | None
    owner: str | None
    lease: float | None
    due: float | None
    body: bytes

    @property
    def entity(self) -> str:
        """What is changed, as the text has it: the entity type, else the name of the operation."""
        return self.entity_type or self.operation


class Change(msgspec.Struct, frozen=True):
    """One change of a message's state, the ``step``-th; ``why`` in words where there is something to say."""

    step: int
    time: float
    before: State | None
    cause: Cause
    after: State
    owner: str | None
    why: str | None


class CallRecord(msgspec.Struct, frozen=True):
    """A call to an outside system, or a confirmation; ``key`` is what it is checked for repetition by."""

    message: int
    operation: str
    key: str
    state: CallState
    failed: int
    began: float
    changed: float
    due: float | None
    description: str | None
    answer: bytes | None


def message_of(row: tuple[Any, ...]) -> Message:
    """A message from the columns in the order of the fields."""
    fields = list(row)
    fields[10], fields[11] = bool(fields[10]), bool(fields[11])
    fields[16] = State(fields[16])
    fields[21] = tuple(msgspec.json.decode(fields[21])) if fields[21] else ()
    fields[26] = Binding(fields[26]) if fields[26] else None
    return Message(*fields)


def change_of(row: tuple[Any, ...]) -> Change:
    """A change from its columns, in the order of the fields."""
    step, time, before, cause, after, owner, why = row
    return Change(step, time, State(before) if before else None, Cause(cause), State(after), owner, why)


BODY = "(SELECT body FROM bodies WHERE bodies.number = messages.number)"
COLUMNS = ", ".join((*Message.__struct_fields__[:-1], BODY))
CALL_COLUMNS = ", ".join(CallRecord.__struct_fields__)
"""The columns of a query, in the order of the fields; what never changes is not beside what often does."""
