"""An application with asynchronous processing: messages are persisted first, and processed with retries."""

from __future__ import annotations

import re
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeAlias

from emulator.clock import Clock
from emulator.events import Events
from extensions.processing import (
    Exchange,
    NewMessage,
    Parameters,
    Processing,
    Routes,
    State,
    TechnicalError,
    ValidationError,
)
from extensions.processing.confirmation import Confirmation
from extensions.processing.message_administration import Administration
from extensions.processing.processing_errors import ProcessingCode
from extensions.processing.stored_messages import Search
from extensions.processing.transitions import FINAL
from sandbox.receiver import Application, ApplicationError, Arrival, PreparingApplication
from sandbox.repository import Repository
from schemas.rdss.catalogue import terms
from schemas.rdss.error_codes import ErrorCode
from schemas.rdss.peek import peek

Reject: TypeAlias = Callable[[bytes, ErrorCode, str], None]
"""Moves a message to the queue of its error code."""

_SERVICE: Final = "application"
_SOURCE: Final = "RDSS"
_TABLE: Final = "CREATE TABLE IF NOT EXISTS worked (messageId TEXT PRIMARY KEY) WITHOUT ROWID"
_CODED: Final = re.compile(r"((?:GENERR|APPERRMET)\d{3}): (.*)", re.DOTALL)
_FINAL: Final = frozenset(
    {ErrorCode.APPERRMET003, ErrorCode.APPERRMET004, ErrorCode.GENERR001, ErrorCode.GENERR004}
)
"""The codes that are not retried, because a retry changes nothing or a reader waits for the answer.

An unknown object of an update or delete is retried: messages can overtake one another.
"""
_PREPARED_AT_ONCE: Final = 16
_OPEN: Final = tuple(state for state in State if state not in FINAL)


class Asynchronous:
    """Stands between a receiver and ``application``: a call persists the message and returns.

    ``work`` processes the persisted messages in order, on the caller's thread, and retries failures. What a
    ``PreparingApplication`` prepares is done before that, for up to 16 messages at the same time. A message
    that fails for good goes to ``reject``, which must be set before the first ``work``.
    """

    reject: Reject

    def __init__(
        self,
        path: Path,
        repository: Repository,
        application: Application,
        clock: Clock,
        events: Events,
        *,
        parameters: Parameters | None = None,
    ) -> None:
        self._repository = repository
        self._application = application
        self._clock = clock
        self._failed: dict[bytes, Exception] = {}
        with repository.transaction() as store:
            store.execute(_TABLE)
        routes = Routes()
        for message_type in terms("MessageType"):
            routes.add(_SERVICE, message_type, _route)
        self._processing = Processing(
            path,
            routes,
            self._call,
            clock,
            events,
            parameters=parameters or Parameters(throttling=None),
            confirm=self._on_confirmation,
        )
        self.administration = Administration(self._processing)

    def __call__(self, arrival: Arrival, _store: sqlite3.Connection, /) -> None:
        header = arrival.header
        receipt = self._processing.receive(
            NewMessage(
                service=_SERVICE,
                operation=header.message_type or "",
                body=arrival.data,
                source=_SOURCE,
                correlation=header.message_id,
                timestamp=self._clock.time(),
            )
        )
        # NOT_SAVED: an earlier receiver persisted the message and ended before its commit.
        if receipt.number is None and receipt.code != ProcessingCode.NOT_SAVED:
            raise ApplicationError(ErrorCode.GENERR009, receipt.additional_info or "not taken")

    def work(self) -> int:
        """Process the messages that are due and return their number."""
        self._processing.maintain_leases()
        self._processing.queue_due()
        if isinstance(self._application, PreparingApplication):
            self._prepare_queued(self._application)
            self._processing.maintain_leases()
        return self._processing.drain()

    def _prepare_queued(self, application: PreparingApplication) -> None:
        bodies = [message.body for message in self._processing.queued()]
        self._failed.clear()

        def prepare(lane: int) -> None:
            for body in bodies[lane::_PREPARED_AT_ONCE]:
                try:
                    application.prepare(Arrival(body, peek(body), 1))
                except Exception as error:  # noqa: BLE001 -- raised again by the attempt at this message
                    self._failed[body] = error

        # Daemons, since whoever ends the process does not wait for what will be done again.
        lanes = range(min(len(bodies), _PREPARED_AT_ONCE))
        threads = [threading.Thread(target=prepare, args=(lane,), daemon=True) for lane in lanes]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    @property
    def unfinished(self) -> int:
        """The number of messages that have not ended, at most a hundred for each state."""
        return sum(len(self.administration.search(Search(state=state))) for state in _OPEN)

    def close(self) -> None:
        """Release the unfinished messages for the next process on this store."""
        self._processing.close()

    def _call(self, _target: str, request: bytes) -> bytes:
        """Call the application once for a message: its writes and the mark in ``worked`` are one commit."""
        arrival = Arrival(request, peek(request), 1)
        message_id = arrival.header.message_id
        try:
            if (failed := self._failed.pop(request, None)) is not None:
                raise failed
            if isinstance(self._application, PreparingApplication):
                self._application.prepare(arrival)
            with self._repository.transaction() as store:
                if not store.execute("SELECT 1 FROM worked WHERE messageId = ?", (message_id,)).fetchone():
                    self._application(arrival, store)
                    store.execute("INSERT INTO worked VALUES (?)", (message_id,))
        except ApplicationError as error:
            kind = ValidationError if error.code in _FINAL else TechnicalError
            raise kind(f"{error.code}: {error}") from error
        return b""

    def _on_confirmation(self, confirmation: Confirmation, /) -> None:
        if confirmation.result == State.FAILED:
            coded = _CODED.match(confirmation.additional_info or "")
            code = ErrorCode[coded[1]] if coded else ErrorCode.GENERR009
            why = coded[2] if coded else confirmation.additional_info or code.description
            self.reject(confirmation.body, code, why)


def _route(exchange: Exchange) -> None:
    exchange.call(_SERVICE, exchange.body)
