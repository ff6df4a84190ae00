"""The states of an asynchronous message, and of a call to an outside system."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class State(StrEnum):
    """Where a message is in its life."""

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


FINAL: Final = frozenset({State.OK, State.SKIPPED, State.FAILED, State.CANCEL})
"""A message in one of these is done with, until somebody restarts it."""
TAKEN_UP_AGAIN: Final = frozenset({State.PARTLY_FAILED, State.POSTPONED})
"""The only states in which messages are taken from the store to be processed."""
HELD: Final = frozenset({State.NEW, State.IN_QUEUE, State.PROCESSING})
"""A message in one of these is in some process's hands, and stuck when that process is gone."""


class CallState(StrEnum):
    """What is known of a call. FAILED_END: it failed, and is not tried again."""

    PROCESSING = "PROCESSING"
    OK = "OK"
    FAILED = "FAILED"
    FAILED_END = "FAILED_END"
