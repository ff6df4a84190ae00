"""Asynchronous messages as the control API shows them: their states, attempts, calls, children, errors.

Times are in seconds since the epoch. What processes them is built on top of the emulator, and hands it these.
"""

from __future__ import annotations

from typing import Literal

import msgspec

Action = Literal["restart", "cancel", "answer"]


class AsyncMessage(msgspec.Struct, frozen=True):
    """A message in one line. ``failed`` counts attempts that failed, ``parent`` is the message it is of."""

    number: int
    received: float
    changed: float
    state: str
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
    """Messages, the newest first; older ones come ``before`` the number of the last."""

    messages: tuple[AsyncMessage, ...]


class StateChange(msgspec.Struct, frozen=True):
    """One change of a message's state, the ``step``-th, and its ``cause``; ``why`` in words."""

    step: int
    time: float
    before: str | None
    cause: str
    after: str
    owner: str | None
    why: str | None


class OutsideCall(msgspec.Struct, frozen=True):
    """A call to an outside system, or a confirmation; ``key`` is what it is checked for repetition by.

    ``failed`` counts how often it failed; a confirmation is tried again when it is ``due``.
    """

    operation: str
    key: str
    state: str
    failed: int
    began: float
    changed: float
    due: float | None
    description: str | None


class AsyncMessageDetail(msgspec.Struct, frozen=True):
    """A message with everything that belongs to it, and what may be done with it."""

    message: AsyncMessage
    changes: tuple[StateChange, ...]
    calls: tuple[OutsideCall, ...]
    children: tuple[AsyncMessage, ...]
    actions: tuple[Action, ...]
    business_errors: tuple[str, ...]
    custom_data: str | None
    body: str


class NewAsyncMessage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a source system hands over; ``timestamp`` is now where it is not given."""

    service: str
    operation: str
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
    """``partial``: the calls that succeeded are not made again; ``total``: all of them are."""

    kind: Literal["partial", "total"] = "partial"


class Answer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a message that is WAITING_FOR_RES waits for, as text."""

    answer: str


class OutsideSystem(msgspec.Struct, frozen=True):
    """A simulated system: what it will answer to the next calls (after that, ok), how often it was called."""

    name: str
    script: tuple[str, ...]
    received: int


class OutsideSystemList(msgspec.Struct, frozen=True):
    """Every simulated system."""

    systems: tuple[OutsideSystem, ...]


class Script(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Answers: ``ok``, ``ok: TEXT``, ``business: WHY``, ``validation: WHY``, ``500``, ``timeout 5s``...

    ``slow 2s`` and ``down 1m`` are the rest of them.
    """

    answers: tuple[str, ...]
