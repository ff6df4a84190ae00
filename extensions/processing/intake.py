"""Receiving: a message is checked, persisted and then acknowledged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

import msgspec

from extensions.processing.async_message_store import AlreadyThereError, AsyncStore
from extensions.processing.object_ids import find_object_id
from extensions.processing.ordering import Ordering
from extensions.processing.processing_errors import ProcessingCode
from extensions.processing.processing_parameters import Parameters
from extensions.processing.python_routes import Routes
from extensions.processing.stored_messages import Message, NewMessage
from extensions.processing.throttling import Throttling
from extensions.processing.transitions import Cause

TraceValidator: TypeAlias = Callable[[NewMessage], bool]
"""Returns True when a message with this trace header is accepted."""


class Receipt(msgspec.Struct, frozen=True):
    """The answer to a source system. FAIL means that nothing was stored; ``code`` gives the reason."""

    status: Literal["OK", "FAIL"]
    number: int | None = None
    code: str | None = None
    additional_info: str | None = None


class Intake:
    """Receives messages for one process."""

    def __init__(
        self,
        store: AsyncStore,
        parameters: Parameters,
        ordering: Ordering,
        throttling: Throttling,
        validators: Sequence[TraceValidator],
        *,
        routes: Routes,
    ) -> None:
        self._routes = routes
        self._store = store
        self._parameters = parameters
        self._ordering = ordering
        self._throttling = throttling
        self._validators = validators

    def receive(self, new: NewMessage) -> tuple[Receipt, Message | None]:
        """Persist a message; return the receipt, and the message if it must be queued now.

        Its object id is set by its route, where the source did not (Check obsolete messages in the queue).
        Raises ThrottledError, and OSError or sqlite3.Error of the store; then nothing is persisted.
        """
        pointer = self._routes.object_id_pointer(new.service, new.operation)
        if pointer is not None and not new.object_id:
            new = msgspec.structs.replace(new, object_id=find_object_id(new.body, pointer))
        if refusal := self._find_refusal(new):
            return refusal, None
        if pointer is not None and new.object_id is None:
            why = f"the body has no object id at {pointer}: a text or a whole number"
            return Receipt("FAIL", None, ProcessingCode.VALIDATION, why), None
        assert new.source is not None
        new = msgspec.structs.replace(new, source=new.source.upper())
        self._throttling.take(str(new.source), new.operation)
        try:
            message = self._store.insert(new, lease=self._parameters.lease)
        except AlreadyThereError as error:
            return Receipt("FAIL", None, ProcessingCode.NOT_SAVED, str(error)), None
        return Receipt("OK", message.number), self._queue_or_postpone(message)

    def _queue_or_postpone(self, message: Message) -> Message | None:
        with self._store.transaction():
            ahead = self._ordering.find_predecessor(message)
            if ahead is not None:
                due = self._store.clock.time() + self._parameters.postponed_interval
                why = f"message {ahead} is ahead in the order of {message.funnel}"
                self._store.change(message.number, Cause.POSTPONED, held=message.step, why=why, due=due)
                return None
            lease = self._store.clock.time() + self._parameters.lease
            owner = self._store.owner
            return self._store.change(
                message.number, Cause.QUEUED, held=message.step, owner=owner, lease=lease
            )

    def _find_refusal(self, new: NewMessage) -> Receipt | None:
        trace = {"source": new.source, "correlation": new.correlation, "timestamp": new.timestamp}
        missing = [name for name, value in trace.items() if value is None or value == ""]
        if len(missing) == len(trace):
            return Receipt("FAIL", None, ProcessingCode.NO_TRACE_HEADER, "there is no trace header")
        if missing:
            what = f"the trace header has no {' and no '.join(missing)}"
            return Receipt("FAIL", None, ProcessingCode.TRACE_INCOMPLETE, what)
        if new.guaranteed_order and not new.funnel:
            return Receipt("FAIL", None, ProcessingCode.VALIDATION, "guaranteed order needs a funnel value")
        if not all(validator(new) for validator in self._validators):
            return Receipt(
                "FAIL", None, ProcessingCode.NOT_ALLOWED, f"{new.source} may not send {new.operation} here"
            )
        return None
