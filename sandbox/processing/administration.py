"""What people do with messages: find them, look at one, restart it, cancel it."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from sandbox.processing.processing import Processing
from sandbox.processing.records import BODY, CallRecord, Change, Message
from sandbox.processing.states import State
from sandbox.processing.transitions import Cause, befores

MOST: Final = 1000


class Search(msgspec.Struct, frozen=True, kw_only=True):
    """What to find; what is not given may be anything. Times in seconds since the epoch.

    ``source``, ``correlation``, ``process``, ``service`` and ``operation`` are parts of the values, ``text``
    is a part of the message or of what was said of it. ``before``: only messages with a lower number.
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


class Details(msgspec.Struct, frozen=True):
    """A message with everything that belongs to it, and what may be done with it."""

    message: Message
    changes: list[Change]
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
_PARTS: Final = ("source", "correlation", "process", "service", "operation")
_TEXT: Final = (
    f"(CAST({BODY} AS TEXT) LIKE ? OR description LIKE ? OR business_errors LIKE ? OR custom_data LIKE ?)"
)


class Administration:
    """Looks at the messages of every process on the store, and acts through one of them."""

    def __init__(self, processing: Processing) -> None:
        self._processing = processing
        self._store = processing.store

    def search(self, wanted: Search, limit: int = 100) -> list[Message]:
        """The newest messages that are as wanted, at most ``limit`` and never more than a thousand."""
        conditions, values = ["1"], list[Any]()
        for name, condition in _BOUNDS.items():
            if (value := getattr(wanted, name)) is not None:
                conditions.append(condition)
                values.append(value)
        for name in _PARTS:
            if (part := getattr(wanted, name)) is not None:
                conditions.append(f"{name} LIKE ? ESCAPE '\\'")
                values.append(_containing(part))
        if wanted.text is not None:
            conditions.append(_TEXT.replace("LIKE ?", "LIKE ? ESCAPE '\\'"))
            values += [_containing(wanted.text)] * 4
        found = " AND ".join(conditions)
        return self._store.messages(f"{found} ORDER BY number DESC LIMIT ?", *values, min(limit, MOST))

    def show(self, number: int) -> Details:
        """One message. LookupError when there is none of that number."""
        with self._store.transaction():
            message = self._store.message(number)
            return Details(
                message,
                self._store.changes(number),
                self._processing.calls.of(number),
                self._store.children(number),
                actions_of(message.state),
            )

    def restart_partly(self, number: int) -> Message:
        """Have a message processed again, without the calls that succeeded; its end is confirmed anew.

        It may be OK, FAILED or CANCEL. Raises LookupError and IllegalTransitionError.
        """
        return self._restart(number, confirmation_only=True)

    def restart_wholly(self, number: int) -> Message:
        """Have a message processed again with all its calls; raises as ``restart_partly``."""
        return self._restart(number, confirmation_only=False)

    def cancel(self, number: int) -> Message:
        """End a message that has not ended, as CANCEL; a worker that is at it writes nothing more.

        Raises LookupError and IllegalTransitionError.
        """
        cancelled = self._processing.progress.move(number, Cause.CANCELLED, why="by hand")
        assert cancelled is not None
        self._processing.tell()
        return cancelled

    def _restart(self, number: int, *, confirmation_only: bool) -> Message:
        with self._store.transaction():
            why = "the calls that succeeded stay" if confirmation_only else "with all its calls"
            now = self._store.clock.time()
            # What outside systems and others said before is asked anew together with the calls.
            forgotten = {} if confirmation_only else {"business_errors": None, "answer": None}
            restarted = self._store.change(number, Cause.RESTARTED, why=why, due=now, **forgotten)
            assert restarted is not None
            self._processing.calls.forget(number, confirmation_only=confirmation_only)
            return restarted


def actions_of(state: State) -> list[str]:
    """What may be done with a message in that state."""
    actions = {"restart": Cause.RESTARTED, "cancel": Cause.CANCELLED, "answer": Cause.ANSWERED}
    return [name for name, cause in actions.items() if state in befores(cause)]


def _containing(part: str) -> str:
    escaped = part.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"%{escaped}%"
