"""The confirmations that are due: written down with the end that they tell of, tried until they are told."""

from __future__ import annotations

import logging
import math
from collections import deque
from collections.abc import Mapping

from sandbox.processing.calls import CONFIRMATION
from sandbox.processing.confirmation import Confirmation, ConfirmationCallback
from sandbox.processing.errors import final_error
from sandbox.processing.parameters import Parameters
from sandbox.processing.records import Message
from sandbox.processing.states import CallState, State
from sandbox.processing.store import Store
from sandbox.processing.telling import EVERYBODY, Telling

_LOG = logging.getLogger(__name__)
_AT_ONCE = 100
_USUAL = Telling()
_SHORTEST_PERIOD = 1.0


class Confirmations:
    """Of every process on the store; each is told by one at a time, and again when that one is gone.

    ``tellings`` say by source, in capitals, of what and how often; ``*`` is whoever is not named.
    """

    def __init__(
        self,
        store: Store,
        parameters: Parameters,
        callback: ConfirmationCallback,
        tellings: Mapping[str, Telling],
    ) -> None:
        self._store = store
        self._parameters = parameters
        self._callback = callback
        self._tellings = tellings
        self._noted: deque[tuple[int, float]] = deque()

    def note(self, message: Message) -> None:
        """Write down, in the transaction in which a message ends, that its source has to be told."""
        if message.state is State.CANCEL and not self._parameters.ways.cancel_is_confirmed:
            return
        if message.state.value not in self._telling(message).ends:
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
        """How often ``tell_due`` is to be asked, in seconds, for no interval to be much overrun."""
        declared = (telling.interval for telling in self._tellings.values())
        shortest = min((each for each in declared if each is not None), default=math.inf)
        return min(self._parameters.poll_period, max(shortest, _SHORTEST_PERIOD))

    @property
    def noted(self) -> bool:
        """Whether ``tell`` has anything to do."""
        return bool(self._noted)

    def tell(self) -> None:
        """Tell what was noted by this process since."""
        while True:
            try:
                number, until = self._noted.popleft()
            except IndexError:  # another worker may have been faster
                return
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
        message = self._ended(number, until)
        if message is None:
            return
        try:
            self._callback(_confirmation(message, self._store.clock.time()))
        except Exception as error:  # noqa: BLE001 -- whatever it is, the source has not been told
            _LOG.warning("the end of message %s could not be confirmed: %s", number, error)
            self._failed(message, until, error)
        else:
            self._set(message, until, CallState.OK)

    def _ended(self, number: int, until: float) -> Message | None:
        """The message as it ended; None when somebody has restarted it since, or told it."""
        claimed = "SELECT 1 FROM calls WHERE message = ? AND operation = ? AND due = ?"
        with self._store.transaction():
            if not self._store.rows(claimed, number, CONFIRMATION, until):
                return None
            return self._store.message(number)

    def _failed(self, message: Message, until: float, error: Exception) -> None:
        query = "SELECT failed FROM calls WHERE message = ? AND operation = ? AND key = ?"
        found = self._store.rows(query, message.number, CONFIRMATION, _key(message))
        failures = found[0][0] + 1 if found else 1
        telling, parameters = self._telling(message), self._parameters
        retries = parameters.confirmation_failures if telling.retries is None else telling.retries
        interval = parameters.confirmation_interval if telling.interval is None else telling.interval
        last = failures > retries or final_error(error) is not None
        due = None if last else self._store.clock.time() + interval
        why = str(error) or repr(error)
        state = CallState.FAILED_END if last else CallState.FAILED
        self._set(message, until, state, failures=1, due=due, why=why)
        self._store.events.emit(
            "processing.unconfirmed",
            message=message.number,
            source=message.source,
            correlation=message.correlation,
            failures=failures,
            due=due,
            why=why,
        )

    def _telling(self, message: Message) -> Telling:
        return self._tellings.get(message.source) or self._tellings.get(EVERYBODY) or _USUAL

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
