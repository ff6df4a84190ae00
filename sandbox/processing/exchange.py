"""What a route has in its hands: the message, its way to outside systems, and how the attempt is to end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import msgspec

from sandbox.processing.calls import Calls, KeyKind, Verdict
from sandbox.processing.errors import BusinessError, Code, ProcessingError
from sandbox.processing.ordering import Ordering
from sandbox.processing.parameters import Parameters
from sandbox.processing.progress import Progress
from sandbox.processing.records import Binding, Message
from sandbox.processing.store import Store
from sandbox.processing.transitions import Cause

Caller: TypeAlias = Callable[[str, bytes], bytes]
"""Calls a target with a request; its answer. Raises BusinessError for one that the operation provides for."""


class Child(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a message that is processed as a message of its own."""

    service: str
    operation: str
    body: bytes = b""
    object_id: str | None = None
    entity_type: str | None = None
    funnel: str | None = None
    binding: Binding = Binding.HARD


class RouteEnded(BaseException):
    """The route is left here; what becomes of the message is decided.

    No Exception, so that a route that catches those does not go on.
    """

    def __init__(self, cause: Cause, why: str) -> None:
        super().__init__(why)
        self.cause = cause


class ProcessingContext(NamedTuple):
    """What exchanges work with."""

    store: Store
    calls: Calls
    ordering: Ordering
    progress: Progress
    parameters: Parameters
    caller: Caller


class Exchange:
    """One attempt at one message.

    ``custom_data`` is any text that the next attempt shall find; ``no_effect`` set to true makes this one a
    blank: nothing came of it, it was no error, and it does not count.
    """

    def __init__(self, message: Message, means: ProcessingContext) -> None:
        self.message = message
        self.custom_data = message.custom_data
        self.no_effect = False
        self.business_errors = list(message.business_errors)
        self.children: tuple[Child, ...] | None = None
        self.waits = False
        self._means = means
        self._calls = means.calls

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
        """Call an outside system, once: when it succeeded at an earlier attempt, the answer of then.

        None for a call that is left out. ``key`` tells calls of one message to one target apart, and is the
        whole of a custom key. Ends the attempt when the message is obsolete; raises what the call raises, and
        LockedError while another message makes the same call.
        """
        name = self._calls.name(self.message, target, kind, key, operation)
        prepared = self._calls.prepare(self.message, name, target)
        if prepared.business_error and prepared.business_error not in self.business_errors:
            self.business_errors.append(prepared.business_error)
        if prepared.verdict is Verdict.OUTDATED:
            raise RouteEnded(Cause.OBSOLETE, prepared.because)
        if prepared.verdict is not Verdict.CALL:
            return prepared.answer
        try:
            answer = self._means.caller(target, request)
        except Exception as error:
            self._calls.failed(self.message, name, str(error) or repr(error))
            raise
        self._calls.succeeded(self.message, name, answer)
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
        """``call``, for one whose business errors are answers too: collected, told to the source at the end.

        None for such an answer; the call was made, and is not made again.
        """
        name = self._calls.name(self.message, target, kind, key, operation)
        try:
            return self.call(target, request, kind=kind, key=key, operation=operation)
        except BusinessError as error:
            self.business_error(error)
            self._calls.succeeded(self.message, name, b"", why=str(error))
            return None

    def business_error(self, error: BusinessError | str) -> None:
        """Remember an error that the operation provides for, over all attempts, to confirm it at the end."""
        self.business_errors.append(str(error))

    def funnel(self, value: str, component: str) -> None:
        """Go on when no other message of this funnel value is being processed; else postpone this one."""
        means = self._means
        with means.store.transaction():
            means.store.note_funnel(self.message.number, value, component)
            other = means.ordering.in_funnel(self.message, value)
            if other is None:
                return
            # Seen and postponed in one transaction, or two messages would go on postponing each other.
            why = f"message {other} is in the funnel {value}"
            self.leave(Cause.POSTPONED, why)
        raise RouteEnded(Cause.POSTPONED, why)

    def funnel_in_order(self, value: str, component: str, *, without_failed: bool = False) -> None:
        """``funnel``, and in the order of the messages' timestamps; postponed too long, the message fails."""
        self._means.store.note_funnel(self.message.number, value, component)
        ordering = self._means.ordering
        other = ordering.ahead(self.message, value, component, without_failed=without_failed)
        if other is not None:
            why = f"message {other} is ahead in the funnel {value}"
            raise RouteEnded(Cause.OUT_OF_ORDER if ordering.too_late(self.message) else Cause.POSTPONED, why)

    def split(self, children: Sequence[Child]) -> None:
        """End this attempt by handing over to children, which are first processed in this order.

        Where only a message that has not failed yet can be split, raises ProcessingError for another.
        """
        if self.message.failed and not self._means.parameters.ways.split_after_failures:
            raise ProcessingError(
                f"message {self.message.number} has failed {self.message.failed} times; "
                "only one that never failed can be split"
            )
        self.children = tuple(children)

    def wait_for_answer(self) -> None:
        """End this attempt; the next one begins when ``Processing.answer`` has an answer."""
        self.waits = True

    def leave(self, cause: Cause, why: str) -> None:
        """End the attempt with what a route was left for; nothing when the message is in other hands."""
        now, parameters = self._means.store.clock.time(), self._means.parameters
        columns = self.kept(failing=False)
        if cause is Cause.POSTPONED:
            columns["due"] = now + parameters.postponed_interval
        elif cause is Cause.OBSOLETE:
            columns |= {"error_code": None, "description": why}
        elif cause is Cause.OUT_OF_ORDER:
            late = f"postponed too long: {why}"
            columns |= {"error_code": Code.POSTPONED_TOO_LONG, "description": late}
        self.end(cause, why, **columns)

    def end(self, cause: Cause, why: str | None = None, **columns: Any) -> None:
        """Move the message on, if it is still in these hands."""
        self._means.progress.move(self.message.number, cause, held=self.message.step, why=why, **columns)

    def kept(self, *, failing: bool) -> dict[str, Any]:
        """What the next attempt, or whoever looks at the message, shall find."""
        kept: dict[str, Any] = {}
        if failing or self._means.parameters.ways.custom_data_always:
            kept["custom_data"] = self.custom_data
        if self.business_errors:
            kept["business_errors"] = msgspec.json.encode(self.business_errors).decode()
        return kept
