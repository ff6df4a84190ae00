"""The exchange: what a route sees of its message, how it calls outside systems, and how it ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import msgspec

from extensions.processing.async_message_store import AsyncStore
from extensions.processing.calls import Calls, CallVerdict, KeyKind
from extensions.processing.ordering import Ordering
from extensions.processing.processing_errors import BusinessError, ProcessingCode, ProcessingError
from extensions.processing.processing_parameters import Parameters
from extensions.processing.progress import Progress
from extensions.processing.stored_messages import Binding, Message
from extensions.processing.transitions import Cause

Caller: TypeAlias = Callable[[str, bytes], bytes]
"""Calls a target with a request; returns the answer. Raises BusinessError for an expected negative answer."""


class Child(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a message that is processed as a message by itself."""

    service: str
    operation: str
    body: bytes = b""
    object_id: str | None = None
    entity_type: str | None = None
    funnel: str | None = None
    binding: Binding = Binding.HARD


class RouteEnded(BaseException):
    """Leaves a route whose outcome is decided.

    It is a BaseException, so that a route with ``except Exception`` does not continue.
    """

    def __init__(self, cause: Cause, why: str) -> None:
        super().__init__(why)
        self.cause = cause


class ProcessingContext(NamedTuple):
    """The services that all exchanges of a process share."""

    store: AsyncStore
    calls: Calls
    ordering: Ordering
    progress: Progress
    parameters: Parameters
    caller: Caller


class Exchange:
    """One attempt at one message.

    ``custom_data`` is a text for the next attempt. Set ``no_effect`` to True when the attempt achieved
    nothing without an error: it is repeated later and is not counted.
    """

    def __init__(self, message: Message, context: ProcessingContext) -> None:
        self.message = message
        self.custom_data = message.custom_data
        self.no_effect = False
        self.business_errors = list(message.business_errors)
        self.children: tuple[Child, ...] | None = None
        self.waits = False
        self._context = context
        self._calls = context.calls

    @property
    def body(self) -> bytes:
        return self.message.body

    def call(
        self,
        target: str,
        request: bytes = b"",
        *,
        kind: KeyKind = KeyKind.MESSAGE,
        key: str | None = None,
        operation: str | None = None,
    ) -> bytes | None:
        """Call an outside system, unless an earlier attempt succeeded: then return that answer.

        None means that the call was left out. ``key`` distinguishes several calls of one message to one
        target; for a custom kind it is the whole key. An obsolete message ends the attempt. Raises what the
        call raises, and LockedError while another message makes the same call.
        """
        name = self._calls.build_name(self.message, target, kind, key, operation)
        prepared = self._calls.prepare(self.message, name, target)
        if prepared.business_error and prepared.business_error not in self.business_errors:
            self.business_errors.append(prepared.business_error)
        if prepared.verdict is CallVerdict.OUTDATED:
            raise RouteEnded(Cause.OBSOLETE, prepared.because)
        if prepared.verdict is not CallVerdict.CALL:
            return prepared.answer
        try:
            answer = self._context.caller(target, request)
        except Exception as error:
            self._calls.record_failure(self.message, name, str(error) or repr(error))
            raise
        self._calls.record_success(self.message, name, answer)
        return answer

    def call_collecting(
        self,
        target: str,
        request: bytes = b"",
        *,
        kind: KeyKind = KeyKind.MESSAGE,
        key: str | None = None,
        operation: str | None = None,
    ) -> bytes | None:
        """Call as ``call`` does, but collect a business error instead of raising it, and return None.

        The source gets the collected errors at the end. The call counts as made.
        """
        name = self._calls.build_name(self.message, target, kind, key, operation)
        try:
            return self.call(target, request, kind=kind, key=key, operation=operation)
        except BusinessError as error:
            self.business_error(error)
            self._calls.record_success(self.message, name, b"", why=str(error))
            return None

    def business_error(self, error: BusinessError | str) -> None:
        """Collect a business error; the source gets it when the message ends."""
        self.business_errors.append(str(error))

    def funnel(self, value: str, component: str) -> None:
        """Postpone this message while another message of this funnel value is being processed."""
        context = self._context
        with context.store.transaction():
            context.store.note_funnel(self.message.number, value, component)
            other = context.ordering.find_in_funnel(self.message, value)
            if other is None:
                return
            # The check and the postponement share a transaction, or two messages could postpone each other.
            why = f"message {other} is in the funnel {value}"
            self.leave(Cause.POSTPONED, why)
        raise RouteEnded(Cause.POSTPONED, why)

    def funnel_in_order(self, value: str, component: str, *, without_failed: bool = False) -> None:
        """Postpone this message until all earlier messages of the funnel value are done.

        Timestamps give the order. A message that has waited too long fails.
        """
        self._context.store.note_funnel(self.message.number, value, component)
        ordering = self._context.ordering
        other = ordering.find_ahead(self.message, value, component, without_failed=without_failed)
        if other is not None:
            why = f"message {other} is ahead in the funnel {value}"
            raise RouteEnded(
                Cause.OUT_OF_ORDER if ordering.has_waited_too_long(self.message) else Cause.POSTPONED, why
            )

    def split(self, children: Sequence[Child]) -> None:
        """End this attempt by splitting the message into children; their first run is in this order.

        Raises ProcessingError for a message that has failed before, if the dialect forbids that.
        """
        if self.message.failed and not self._context.parameters.ways.split_after_failures:
            raise ProcessingError(
                f"message {self.message.number} has failed {self.message.failed} times; "
                "only one that never failed can be split"
            )
        self.children = tuple(children)

    def wait_for_answer(self) -> None:
        """End this attempt; the next one begins after ``Processing.answer``."""
        self.waits = True

    def leave(self, cause: Cause, why: str) -> None:
        """End the attempt for the cause of a RouteEnded; without effect if another worker has the message."""
        now, parameters = self._context.store.clock.time(), self._context.parameters
        columns = self.kept_columns(failing=False)
        if cause is Cause.POSTPONED:
            columns["due"] = now + parameters.postponed_interval
        elif cause is Cause.OBSOLETE:
            columns |= {"error_code": None, "description": why}
        elif cause is Cause.OUT_OF_ORDER:
            late = f"postponed too long: {why}"
            columns |= {"error_code": ProcessingCode.POSTPONED_TOO_LONG, "description": late}
        self.end(cause, why, **columns)

    def end(self, cause: Cause, why: str | None = None, **columns: Any) -> None:
        """Change the state of the message, if this worker still has it."""
        self._context.progress.move(self.message.number, cause, held=self.message.step, why=why, **columns)

    def kept_columns(self, *, failing: bool) -> dict[str, Any]:
        """The columns that carry custom data and business errors to the next attempt."""
        kept: dict[str, Any] = {}
        if failing or self._context.parameters.ways.custom_data_always:
            kept["custom_data"] = self.custom_data
        if self.business_errors:
            kept["business_errors"] = msgspec.json.encode(self.business_errors).decode()
        return kept
