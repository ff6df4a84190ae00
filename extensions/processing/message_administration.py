"""Operations for people: search messages, show one, restart it, cancel it."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from extensions.processing.processing import Processing
from extensions.processing.stored_messages import BODY, CallRecord, Message, Search
from extensions.processing.transitions import Cause, states_before
from rdss_sandbox.shapes.processing import State, StateChange

MAX_RESULTS: Final = 1000


class Details(msgspec.Struct, frozen=True):
    """A message with its history, calls and children, and the actions that its state allows."""

    message: Message
    changes: list[StateChange]
    calls: list[CallRecord]
    children: list[Message]
    actions: list[str]


_BOUNDS: Final = {
    "received_from": "received >= ?",
    "received_to": "received <= ?",
    "changed_from": "changed >= ?",
    "changed_to": "changed <= ?",
    "state": "state = ?",
    "error_code": "error_code = ?",
    "before": "number < ?",
}
_SUBSTRINGS: Final = ("source", "correlation", "process", "service", "operation")
_TEXT: Final = (
    f"(CAST({BODY} AS TEXT) LIKE ? OR description LIKE ? OR business_errors LIKE ? OR custom_data LIKE ?)"
)


class Administration:
    """Shows the messages of all processes that share the store, and acts through one of these processes."""

    def __init__(self, processing: Processing) -> None:
        self._processing = processing
        self._store = processing.store

    def search(self, search: Search, limit: int = 100) -> list[Message]:
        """The newest messages that match, at most ``limit`` and at most 1,000."""
        conditions, values = ["1"], list[Any]()
        for name, condition in _BOUNDS.items():
            if (value := getattr(search, name)) is not None:
                conditions.append(condition)
                values.append(value)
        for name in _SUBSTRINGS:
            if (part := getattr(search, name)) is not None:
                conditions.append(f"{name} LIKE ? ESCAPE '\\'")
                values.append(_like_pattern(part))
        if search.text is not None:
            conditions.append(_TEXT.replace("LIKE ?", "LIKE ? ESCAPE '\\'"))
            values += [_like_pattern(search.text)] * 4
        found = " AND ".join(conditions)
        return self._store.messages(f"{found} ORDER BY number DESC LIMIT ?", *values, min(limit, MAX_RESULTS))

    def show(self, number: int) -> Details:
        """Show one message. Raises LookupError when no message has that number."""
        with self._store.transaction():
            message = self._store.message(number)
            return Details(
                message,
                self._store.changes(number),
                self._processing.calls.of_message(number),
                self._store.children(number),
                allowed_actions(message.state),
            )

    def restart_partly(self, number: int) -> Message:
        """Process a message again and confirm its end again; calls that succeeded are not repeated.

        The message must be OK, FAILED or CANCEL. Raises LookupError and IllegalTransitionError.
        """
        return self._restart(number, confirmation_only=True)

    def restart_wholly(self, number: int) -> Message:
        """Process a message again and repeat all its calls. Raises what ``restart_partly`` raises."""
        return self._restart(number, confirmation_only=False)

    def cancel(self, number: int) -> Message:
        """Move a message that has not ended to CANCEL; a worker that is processing it writes nothing more.

        Raises LookupError and IllegalTransitionError.
        """
        cancelled = self._processing.progress.move(number, Cause.CANCELLED, why="by hand")
        assert cancelled is not None
        self._processing.send_confirmations()
        return cancelled

    def _restart(self, number: int, *, confirmation_only: bool) -> Message:
        with self._store.transaction():
            why = "the calls that succeeded stay" if confirmation_only else "with all its calls"
            now = self._store.clock.time()
            # A repeated call gives its answer and its business errors again.
            forgotten = {} if confirmation_only else {"business_errors": None, "answer": None}
            restarted = self._store.change(number, Cause.RESTARTED, why=why, due=now, **forgotten)
            assert restarted is not None
            self._processing.calls.forget(number, confirmation_only=confirmation_only)
            return restarted


def allowed_actions(state: State) -> list[str]:
    """The actions that the state of a message allows: restart, cancel, answer."""
    actions = {"restart": Cause.RESTARTED, "cancel": Cause.CANCELLED, "answer": Cause.ANSWERED}
    return [name for name, cause in actions.items() if state in states_before(cause)]


def _like_pattern(part: str) -> str:
    escaped = part.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"%{escaped}%"
