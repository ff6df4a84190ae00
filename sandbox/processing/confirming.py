"""The confirmations that are due: written down with the end that they tell of, tried until they are told."""

from __future__ import annotations

import logging
from collections import deque

from sandbox.processing.calls import CONFIRMATION
from sandbox.processing.confirmation import Confirmation, ConfirmationCallback
from sandbox.processing.parameters import Parameters
from sandbox.processing.records import Message
from sandbox.processing.states import CallState, State
from sandbox.processing.store import Store

_LOG = logging.getLogger(__name__)
_AT_ONCE = 100


class Confirmations:
    """Of every process on the store; each is told by one at a time, and again when that one is gone."""

    def __init__(self, store: Store, parameters: Parameters, callback: ConfirmationCallback) -> None:
        self._store = store
        self._parameters = parameters
        self._callback = callback
        self._noted: deque[tuple[int, float]] = deque()

    def note(self, message: Message) -> None:
        """Write down, in the transaction in which a message ends, that its source has to be told."""
        told = {State.OK, State.FAILED} | (
            {State.CANCEL} if self._parameters.ways.cancel_is_confirmed else set()
        )
        if message.state not in told:
            return
        now = self._store.clock.time()
        until = now + self._parameters.lease
        row = (message.number, CONFIRMATION, _key(message), now, now, until, now)
        with self._store.transaction() as store:
            store.execute(
                "REPLACE INTO calls (message, operation, key, state, failed, began, changed, due, newness) "
                "VALUES (?, ?, ?, 'PROCESSING', 0, ?, ?, ?, ?)",
                row,
            )
        self._noted.append((message.number, until))

    def tell(self) -> None:
        """Tell what was noted by this process since."""
        while self._noted:
            number, until = self._noted.popleft()
            self._tell(number, until)

    def tell_due(self) -> int:
        """Tell what failed longer than the interval ago, or was left behind; how many."""
        self.tell()
        now = self._store.clock.time()
        query = "SELECT message, key, due FROM calls WHERE due <= ? ORDER BY due LIMIT ?"
        due = self._store.rows(query, now, _AT_ONCE)
        for number, key, at in due:
            if self._claim(number, key, at, until := now + self._parameters.lease):
                self._tell(number, until)
        return len(due)

    def _claim(self, number: int, key: str, at: float, until: float) -> bool:
        claim = (
            "UPDATE calls SET state = 'PROCESSING', due = ? "
            "WHERE message = ? AND operation = ? AND key = ? AND due = ?"
        )
        with self._store.transaction() as store:
            return store.execute(claim, (until, number, CONFIRMATION, key, at)).rowcount == 1

    def _tell(self, number: int, until: float) -> None:
        message = self._store.message(number)
        try:
            self._callback(_confirmation(message, self._store.clock.time()))
        except Exception as error:  # noqa: BLE001 -- whatever it is, the source has not been told
            _LOG.warning("the end of message %s could not be confirmed: %s", number, error)
            self._failed(message, until, str(error) or repr(error))
        else:
            self._set(message, until, CallState.OK)

    def _failed(self, message: Message, until: float, why: str) -> None:
        query = "SELECT failed FROM calls WHERE message = ? AND operation = ? AND key = ?"
        found = self._store.rows(query, message.number, CONFIRMATION, _key(message))
        if found and found[0][0] >= self._parameters.confirmation_failures:
            self._set(message, until, CallState.FAILED_END, failures=1, why=why)
        else:
            due = self._store.clock.time() + self._parameters.confirmation_interval
            self._set(message, until, CallState.FAILED, failures=1, due=due, why=why)

    def _set(
        self,
        message: Message,
        until: float,
        state: CallState,
        *,
        failures: int = 0,
        due: float | None = None,
        why: str | None = None,
    ) -> None:
        update = (
            "UPDATE calls SET state = ?, failed = failed + ?, changed = ?, due = ?, description = ? "
            "WHERE message = ? AND operation = ? AND key = ? AND due = ?"
        )
        values = (state, failures, self._store.clock.time(), due, why)
        with self._store.transaction() as store:
            store.execute(update, (*values, message.number, CONFIRMATION, _key(message), until))


def _key(message: Message) -> str:
    return f"{message.source}_{message.correlation}"


def _confirmation(message: Message, now: float) -> Confirmation:
    said = [text for text in (message.description, *message.business_errors) if text]
    info = "; ".join(said) or None
    return Confirmation(
        message.number, message.source, message.correlation, message.state, info, now, message.body
    )
