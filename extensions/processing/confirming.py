"""Pending confirmations: recorded in the transaction that ends a message, and retried until they succeed."""

from __future__ import annotations

import logging
import math
from collections import deque
from collections.abc import Mapping

from extensions.processing.async_message_store import AsyncStore
from extensions.processing.calls import CONFIRMATION
from extensions.processing.confirmation import Confirmation, ConfirmationCallback
from extensions.processing.confirmation_policies import ANY_SOURCE, ConfirmationPolicy
from extensions.processing.processing_errors import final_error
from extensions.processing.processing_parameters import Parameters
from extensions.processing.stored_messages import Message
from rdss_sandbox.shapes.processing import CallState, State
from schemas.bound import CONTRACT

_LOG = logging.getLogger(__name__)
_BATCH = 100
_DEFAULT_POLICY = ConfirmationPolicy()
_SHORTEST_PERIOD = 1.0


class Confirmations:
    """The pending confirmations of all processes that share the store.

    One process sends a confirmation at a time. When that process dies, another sends it again. ``policies``
    is keyed by source system in capitals; the key ``*`` serves all other systems.
    """

    def __init__(
        self,
        store: AsyncStore,
        parameters: Parameters,
        callback: ConfirmationCallback,
        policies: Mapping[str, ConfirmationPolicy],
    ) -> None:
        self._store = store
        self._parameters = parameters
        self._callback = callback
        self._policies = policies
        self._noted: deque[tuple[int, float]] = deque()

    def note(self, message: Message) -> None:
        """Record that the source of a message must be told; called in the transaction that ends it."""
        if message.state is State.CANCEL and not self._parameters.ways.cancel_is_confirmed:
            return
        if message.state.value not in self._find_policy(message).ends:
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

    @property
    def period(self) -> float:
        """Seconds between two calls of ``send_due``: the shortest interval, from 1 s to the poll period."""
        declared = (policy.interval for policy in self._policies.values())
        shortest = min((each for each in declared if each is not None), default=math.inf)
        return min(self._parameters.poll_period, max(shortest, _SHORTEST_PERIOD))

    @property
    def has_noted(self) -> bool:
        """Whether this process has confirmations that ``send_noted`` would send."""
        return bool(self._noted)

    def send_noted(self) -> None:
        """Send the confirmations that this process noted."""
        while True:
            try:
                number, until = self._noted.popleft()
            except IndexError:  # another worker may have been faster
                return
            self._send(number, until)

    def send_due(self) -> int:
        """Send the confirmations whose retry is due or whose process died; return their number."""
        self.send_noted()
        now = self._store.clock.time()
        query = "SELECT message, key, due FROM calls WHERE due <= ? ORDER BY due LIMIT ?"
        due = self._store.rows(query, now, _BATCH)
        for number, key, at in due:
            if self._claim(number, key, at, until := now + self._parameters.lease):
                self._send(number, until)
        return len(due)

    def _claim(self, number: int, key: str, at: float, until: float) -> bool:
        claim = (
            "UPDATE calls SET state = 'PROCESSING', due = ? "
            "WHERE message = ? AND operation = ? AND key = ? AND due = ?"
        )
        with self._store.transaction() as store:
            return store.execute(claim, (until, number, CONFIRMATION, key, at)).rowcount == 1

    def _send(self, number: int, until: float) -> None:
        message = self._read_claimed(number, until)
        if message is None:
            return
        try:
            self._callback(_build_confirmation(message, self._store.clock.time()))
        except Exception as error:  # noqa: BLE001 -- after any exception the source must be told again
            code = CONTRACT.failures.system
            _LOG.warning("%s: the end of message %s could not be confirmed: %s", code, number, error)
            self._record_failure(message, until, error)
        else:
            self._update_call(message, until, CallState.OK)

    def _read_claimed(self, number: int, until: float) -> Message | None:
        """The ended message; None when it was restarted or confirmed since the claim."""
        claimed = "SELECT 1 FROM calls WHERE message = ? AND operation = ? AND due = ?"
        with self._store.transaction():
            if not self._store.rows(claimed, number, CONFIRMATION, until):
                return None
            return self._store.message(number)

    def _record_failure(self, message: Message, until: float, error: Exception) -> None:
        query = "SELECT failed FROM calls WHERE message = ? AND operation = ? AND key = ?"
        found = self._store.rows(query, message.number, CONFIRMATION, _key(message))
        failures = found[0][0] + 1 if found else 1
        policy, parameters = self._find_policy(message), self._parameters
        retries = parameters.confirmation_failures if policy.retries is None else policy.retries
        interval = parameters.confirmation_interval if policy.interval is None else policy.interval
        last = failures > retries or final_error(error) is not None
        due = None if last else self._store.clock.time() + interval
        why = str(error) or repr(error)
        state = CallState.FAILED_END if last else CallState.FAILED
        self._update_call(message, until, state, failures=1, due=due, why=why)
        self._store.events.emit(
            "processing.unconfirmed",
            message=message.number,
            source=message.source,
            correlation=message.correlation,
            failures=failures,
            due=due,
            why=why,
        )

    def _find_policy(self, message: Message) -> ConfirmationPolicy:
        return self._policies.get(message.source) or self._policies.get(ANY_SOURCE) or _DEFAULT_POLICY

    def _update_call(
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


def _build_confirmation(message: Message, now: float) -> Confirmation:
    texts = [text for text in (message.description, *message.business_errors) if text]
    info = "; ".join(texts) or None
    return Confirmation(
        message.number,
        message.source,
        message.correlation,
        message.state,
        info,
        now,
        message.body,
        step=message.step,
        service=message.service,
        operation=message.operation,
        process=message.process,
        object_id=message.object_id,
        entity_type=message.entity_type,
        business_errors=message.business_errors,
    )
