"""The records of the store: messages, their changes of state, and calls."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from extensions.processing.transitions import Cause
from rdss_sandbox.shapes.processing import AsyncMessage, OutsideCall, State, StateChange


class Binding(StrEnum):
    """Whether a child decides how its parent ends: HARD does, SOFT does not."""

    HARD = "HARD"
    SOFT = "SOFT"


class NewMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message as a source system sends it.

    ``source``, ``correlation`` and ``timestamp`` (seconds since the epoch) are mandatory: they are the trace
    header. Messages with the same ``funnel`` are processed one at a time. With ``guaranteed_order`` they are
    processed in the order of their timestamps. A message that FAILED blocks those behind it, unless they have
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


class Message(AsyncMessage, frozen=True, kw_only=True):
    """A message of the store; times are seconds since the epoch.

    ``step`` counts its changes of state. ``owner`` is the process that has it until ``lease``. ``due`` is the
    time of its next attempt.
    """

    binding: Binding | None
    funnel_component: str | None
    guaranteed_order: bool
    without_failed: bool
    timestamp: float
    started: float
    step: int
    business_errors: tuple[str, ...]
    custom_data: str | None
    answer: bytes | None
    position: int | None
    lease: float | None
    body: bytes

    @property
    def entity(self) -> str:
        """The entity type, or else the operation, as in the framework's documentation."""
        return self.entity_type or self.operation


class CallRecord(OutsideCall, frozen=True):
    """A call of a message; ``operation`` and ``key`` identify it."""

    message: int
    answer: bytes | None


def message_from_row(row: tuple[Any, ...]) -> Message:
    """Build a message from a row of ``COLUMNS``."""
    fields = dict(zip(Message.__struct_fields__, row, strict=True))
    for name in ("guaranteed_order", "without_failed"):
        fields[name] = bool(fields[name])
    fields["state"] = State(fields["state"])
    fields["business_errors"] = tuple(msgspec.json.decode(fields["business_errors"] or b"[]"))
    fields["binding"] = Binding(fields["binding"]) if fields["binding"] else None
    return Message(**fields)


def change_from_row(row: tuple[Any, ...]) -> StateChange:
    """Build a change from a row in the order of its fields."""
    step, time, before, cause, after, owner, why = row
    return StateChange(step, time, State(before) if before else None, Cause(cause), State(after), owner, why)


BODY = "(SELECT body FROM bodies WHERE bodies.number = messages.number)"
COLUMNS = ", ".join((*Message.__struct_fields__[:-1], BODY))
CALL_COLUMNS = ", ".join(CallRecord.__struct_fields__)
"""The columns of a query, in the order of the fields.

Bodies have a table of their own, so that the frequent updates of a message do not rewrite its body.
"""


class Search(msgspec.Struct, frozen=True, kw_only=True):
    """Search criteria; a field that is None matches everything. Times are seconds since the epoch.

    ``source``, ``correlation``, ``process``, ``service`` and ``operation`` match substrings. ``text`` matches
    a substring of the body, the description, the business errors or the custom data. ``before`` matches
    messages with a lower number.
    """

    received_from: float | None = None
    received_to: float | None = None
    changed_from: float | None = None
    changed_to: float | None = None
    source: str | None = None
    correlation: str | None = None
    process: str | None = None
    state: State | None = None
    error_code: str | None = None
    service: str | None = None
    operation: str | None = None
    text: str | None = None
    before: int | None = None
