"""The states of an asynchronous message, and of a call to an outside system."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from rdss_sandbox.shapes.processing import State

__all__ = ["FINAL", "HELD", "TAKEN_UP_AGAIN", "CallState", "State"]


FINAL: Final = frozenset({State.OK, State.SKIPPED, State.FAILED, State.CANCEL})
"""A message in one of these has ended, unless somebody restarts it."""
TAKEN_UP_AGAIN: Final = frozenset({State.PARTLY_FAILED, State.POSTPONED})
"""Only messages in these states are taken from the store to be processed."""
HELD: Final = frozenset({State.NEW, State.IN_QUEUE, State.PROCESSING})
"""A message in one of these has an owner, and is stuck when that process dies."""


class CallState(StrEnum):
    """The state of a call. FAILED_END means that it failed and is not tried again."""

    PROCESSING = "PROCESSING"
    OK = "OK"
    FAILED = "FAILED"
    FAILED_END = "FAILED_END"
