"""Asynchronous messages as the control API shows them: states, attempts, calls, children and errors.

Times are in seconds since the epoch.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

import msgspec


class State(StrEnum):
    """The state of a message."""

    NEW = "NEW"
    IN_QUEUE = "IN_QUEUE"
    PROCESSING = "PROCESSING"
    WAITING = "WAITING"
    WAITING_FOR_RES = "WAITING_FOR_RES"
    PARTLY_FAILED = "PARTLY_FAILED"
    POSTPONED = "POSTPONED"
    OK = "OK"
    SKIPPED = "SKIPPED"
    FAILED = "FAILED"
    CANCEL = "CANCEL"


Action = Literal["restart", "cancel", "answer"]


class AsyncMessage(msgspec.Struct, frozen=True):
    """A message in one line. ``failed`` counts failed attempts; ``parent`` is the number of its parent."""

    number: int
    received: float
    changed: float
    state: State
    service: str
    operation: str
    source: str
    correlation: str
    failed: int
    process: str | None = None
    object_id: str | None = None
    entity_type: str | None = None
    funnel: str | None = None
    error_code: str | None = None
    description: str | None = None
    parent: int | None = None
    binding: str | None = None
    due: float | None = None
    owner: str | None = None


class AsyncMessagePage(msgspec.Struct, frozen=True):
    """Messages, newest first. The next page is queried with ``before`` the number of the last one."""

    messages: tuple[AsyncMessage, ...]


class StateChange(msgspec.Struct, frozen=True):
    """One change of state. ``step`` counts the changes of the message; ``why`` is the cause in words."""

    step: int
    time: float
    before: State | None
    cause: str
    after: State
    owner: str | None
    why: str | None


class CallState(StrEnum):
    """The state of a call. FAILED_END means that it failed and is not tried again."""

    PROCESSING = "PROCESSING"
    OK = "OK"
    FAILED = "FAILED"
    FAILED_END = "FAILED_END"


class OutsideCall(msgspec.Struct, frozen=True):
    """A call to an external system, or a confirmation. ``key`` is its idempotency key.

    ``failed`` counts its failures. A confirmation is tried again when it is ``due``.
    """

    operation: str
    key: str
    state: CallState
    failed: int
    began: float
    changed: float
    due: float | None
    description: str | None


class AsyncMessageDetail(msgspec.Struct, frozen=True):
    """A whole message with its changes, calls, children and the actions that are allowed now."""

    message: AsyncMessage
    changes: tuple[StateChange, ...]
    calls: tuple[OutsideCall, ...]
    children: tuple[AsyncMessage, ...]
    actions: tuple[Action, ...]
    business_errors: tuple[str, ...]
    custom_data: str | None
    body: str


class NewAsyncMessage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A message as a source system hands it over. ``timestamp`` is now by default."""

    service: Annotated[str, msgspec.Meta(examples=["metadata"])]
    operation: Annotated[str, msgspec.Meta(examples=["create"])]
    source: str = "control"
    correlation: str | None = None
    body: str = ""
    timestamp: float | None = None
    process: str | None = None
    object_id: str | None = None
    entity_type: str | None = None
    funnel: str | None = None
    guaranteed_order: bool = False
    without_failed: bool = False


class Restart(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A ``total`` restart makes every call again, a ``partial`` one only those that did not succeed."""

    kind: Literal["partial", "total"] = "partial"


class Answer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a message that is WAITING_FOR_RES waits for, as text."""

    answer: str


class OutsideSystem(msgspec.Struct, frozen=True):
    """A simulated external system. ``script`` is its next answers, then ``ok``; ``received`` counts calls."""

    name: str
    script: tuple[str, ...]
    received: int


class OutsideSystemList(msgspec.Struct, frozen=True):
    """Every simulated external system."""

    systems: tuple[OutsideSystem, ...]


class Script(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Answers: ``ok``, ``ok: TEXT``, ``business: WHY``, ``validation: WHY``, ``500``, ``timeout 5s``...

    ``slow 2s`` and ``down 1m`` are the rest of them.
    """

    answers: tuple[str, ...]
