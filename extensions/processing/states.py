"""The states of an asynchronous message, and of a call to an outside system."""

from __future__ import annotations

from typing import Final

from rdss_sandbox.shapes.processing import CallState, State

__all__ = ["FINAL", "HELD", "TAKEN_UP_AGAIN", "CallState", "State"]


FINAL: Final = frozenset({State.OK, State.SKIPPED, State.FAILED, State.CANCEL})
"""A message in one of these has ended, unless somebody restarts it."""
TAKEN_UP_AGAIN: Final = frozenset({State.PARTLY_FAILED, State.POSTPONED})
"""Only messages in these states are taken from the store to be processed."""
HELD: Final = frozenset({State.NEW, State.IN_QUEUE, State.PROCESSING})
"""A message in one of these has an owner, and is stuck when that process dies."""
