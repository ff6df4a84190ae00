"""Routes of declared steps: each step is what a route in Python would do with its exchange."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import msgspec

from sandbox.processing.calls import KeyKind
from sandbox.processing.errors import (
    BusinessError,
    NothingFoundError,
    ProcessingError,
    SeveralFoundError,
    TechnicalError,
    ValidationError,
)
from sandbox.processing.exchange import Child, Exchange
from sandbox.processing.expressions import (
    MESSAGE,
    Record,
    Roots,
    condition,
    filled,
    needed,
    readable,
    text,
)
from sandbox.processing.routes import Route
from sandbox.processing.steps import (
    Call,
    ChildOf,
    End,
    Fail,
    Failure,
    Funnel,
    Keep,
    Remember,
    Split,
    Step,
    Wait,
)

ROOTS: Final[Roots] = {
    "message": frozenset(MESSAGE),
    "body": None,
    "attempt": frozenset(),
    "kept": None,
    "answer": None,
    "answers": None,
    "business_errors": None,
}
"""What the expressions of a step see of its message."""
_ERRORS: Final[dict[Failure, type[ProcessingError]]] = {
    "validation": ValidationError,
    "business": BusinessError,
    "nothing found": NothingFoundError,
    "several found": SeveralFoundError,
    "technical": TechnicalError,
}


class _Attempt:
    """What one attempt knows while its steps are taken."""

    def __init__(self, exchange: Exchange) -> None:
        message = exchange.message
        self.exchange = exchange
        self.answers: dict[str, Any] = {}
        self._fixed: Record = {
            "message": {name: getattr(message, name) for name in MESSAGE},
            "body": readable(message.body),
            "attempt": message.failed + 1,
            "answer": None if message.answer is None else readable(message.answer),
        }

    @property
    def record(self) -> Record:
        kept = self.exchange.custom_data
        return self._fixed | {
            "kept": None if kept is None else readable(kept.encode()),
            "answers": self.answers,
            "business_errors": list(self.exchange.business_errors),
        }


def declared_route(steps: Sequence[Step]) -> Route:
    """The route that takes the steps in their order."""
    taken = [(condition(step.when), step) for step in steps]

    def route(exchange: Exchange) -> None:
        attempt = _Attempt(exchange)
        for holds, step in taken:
            if holds(attempt.record) and _TAKE[type(step)](attempt, step):
                return

    return route


def _call(attempt: _Attempt, step: Call) -> bool:
    exchange, record = attempt.exchange, attempt.record
    by_default = KeyKind.ENTITY if exchange.message.object_id else KeyKind.MESSAGE
    request = exchange.body if step.request is None else _bytes(step.request, record)
    call = exchange.call_collecting if step.business_errors == "collect" else exchange.call
    answer = call(
        step.system,
        request,
        # Without an object there is nothing that a newer message could have changed since.
        kind=step.known_by or by_default,
        key=None if step.key is None else needed(step.key, record, f"the key of the call to {step.system}"),
        operation=step.operation,
    )
    if answer is not None:
        attempt.answers[step.name] = readable(answer)
    return False


def _funnel(attempt: _Attempt, step: Funnel) -> bool:
    exchange = attempt.exchange
    value = needed(step.value, attempt.record, "the value of the funnel")
    component = step.component or f"{exchange.message.service}.{exchange.message.operation}"
    if step.in_order:
        exchange.funnel_in_order(value, component, without_failed=step.without_failed)
    else:
        exchange.funnel(value, component)
    return False


def _split(attempt: _Attempt, step: Split) -> bool:
    exchange, record = attempt.exchange, attempt.record
    exchange.split([child for each in step.children for child in _children(each, record, exchange.body)])
    return True


def _children(declared: ChildOf, record: Record, body: bytes) -> Iterator[Child]:
    if declared.each is None:
        yield _child(declared, record, body, {})
        return
    elements = filled(declared.each, record)
    if elements is not None and not isinstance(elements, list):
        raise ValidationError(f"{declared.each} is {elements!r}, which is not a list to split")
    for element in elements or ():
        yield _child(declared, record, _written(element), {"element": element})


def _child(declared: ChildOf, record: Record, body: bytes, within: dict[str, Any]) -> Child:
    return Child(
        service=declared.service,
        operation=declared.operation,
        body=body if declared.body is None else _bytes(declared.body, record, **within),
        object_id=text(declared.object_id, record, **within),
        entity_type=text(declared.entity_type, record, **within),
        funnel=text(declared.funnel, record, **within),
        binding=declared.binding,
    )


def _keep(attempt: _Attempt, step: Keep) -> bool:
    value = filled(step.value, attempt.record)
    plain = value is None or (isinstance(value, str) and readable(value.encode()) == value)
    attempt.exchange.custom_data = value if plain else msgspec.json.encode(value).decode()
    return False


def _remember(attempt: _Attempt, step: Remember) -> bool:
    exchange = attempt.exchange
    why = needed(step.why, attempt.record, "the business error")
    # An attempt that comes to this step again has nothing new to say.
    if why not in exchange.business_errors:
        exchange.business_error(why)
    return False


def _wait(attempt: _Attempt, _: Wait) -> bool:
    if attempt.exchange.message.answer is not None:
        return False
    attempt.exchange.wait_for_answer()
    return True


def _fail(attempt: _Attempt, step: Fail) -> bool:
    raise _ERRORS[step.kind](text(step.why, attempt.record) or f"a {step.kind} error")


def _end(attempt: _Attempt, step: End) -> bool:
    attempt.exchange.no_effect = step.kind == "no effect"
    return True


def _bytes(template: Any, record: Record, **within: Any) -> bytes:
    return _written(filled(template, record, **within))


def _written(value: Any) -> bytes:
    if value is None:
        return b""
    return value.encode() if isinstance(value, str) else msgspec.json.encode(value)


_TAKE: Final[dict[type[Step], Callable[[_Attempt, Any], bool]]] = {
    Call: _call,
    Funnel: _funnel,
    Split: _split,
    Keep: _keep,
    Remember: _remember,
    Wait: _wait,
    Fail: _fail,
    End: _end,
}
"""Takes a step; whether the route ends with it."""
