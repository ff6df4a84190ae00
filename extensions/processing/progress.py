"""Changes of state with their consequences: a parent that waits, and a confirmation that is due."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from extensions.processing.async_message_store import AsyncStore
from extensions.processing.confirming import Confirmations
from extensions.processing.stored_messages import Binding, Message
from extensions.processing.transitions import FINAL, Cause
from rdss_sandbox.shapes.processing import State

_HARD_CHILD: Final = "parent = ? AND binding = 'HARD'"


class Progress:
    """Changes the state of messages, their parents and their confirmations in one transaction."""

    def __init__(self, store: AsyncStore, confirmations: Confirmations) -> None:
        self._store = store
        self._confirmations = confirmations

    def move(
        self, number: int, cause: Cause, *, held: int | None = None, why: str | None = None, **columns: Any
    ) -> Message | None:
        """Change a message as the store does; note the confirmation of an end, and end the parent."""
        with self._store.transaction():
            moved = self._store.change(number, cause, held=held, why=why, **columns)
            if moved is None or moved.state not in FINAL:
                return moved
            self._confirmations.note(moved)
            if moved.parent is not None and moved.binding is Binding.HARD:
                if moved.state in {State.FAILED, State.CANCEL}:
                    if self._store.message(moved.parent).state is State.WAITING:
                        self._fail(moved.parent, moved)
                else:
                    self.settle_parent(moved.parent)
            return moved

    def settle_parent(self, number: int) -> None:
        """End a WAITING parent whose HARD children are done, or one of whose HARD children failed."""
        with self._store.transaction():
            parent = self._store.message(number)
            if parent.state is not State.WAITING:
                return
            failed = self._store.messages(f"{_HARD_CHILD} AND state IN ('FAILED', 'CANCEL') LIMIT 1", number)
            if failed:
                self._fail(number, failed[0])
            elif not self._store.messages(
                f"{_HARD_CHILD} AND state NOT IN ('OK', 'SKIPPED') LIMIT 1", number
            ):
                children = self._store.messages(f"{_HARD_CHILD} AND business_errors IS NOT NULL", number)
                errors = [error for child in children for error in child.business_errors]
                before = self._store.message(number).business_errors
                joined = msgspec.json.encode([*before, *errors]).decode()
                self.move(
                    number, Cause.CHILDREN_DONE, business_errors=joined, error_code=None, description=None
                )

    def _fail(self, parent: int, child: Message) -> None:
        ended = "was cancelled" if child.state is State.CANCEL else f"failed: {child.description}"
        why = f"child {child.correlation} {ended}"
        self.move(parent, Cause.CHILD_FAILED, why=why, error_code=child.error_code, description=why)
