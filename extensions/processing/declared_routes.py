"""Routes of declared steps; each step does what a route in Python does with its exchange."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import msgspec

from extensions.processing.calls import KeyKind
from extensions.processing.expressions import (
    MESSAGE_FIELDS,
    Record,
    Roots,
    compile_condition,
    fill_required,
    fill_template,
    fill_text,
    read_json_or_text,
)
from extensions.processing.processing_errors import (
    BusinessError,
    NothingFoundError,
    ProcessingError,
    SeveralFoundError,
    TechnicalError,
    ValidationError,
)
from extensions.processing.python_routes import PythonRoute
from extensions.processing.route_exchange import Child, Exchange
from extensions.processing.steps import (
    CallStep,
    DeclaredChild,
    EndStep,
    Fail,
    Failure,
    Funnel,
    Keep,
    Remember,
    SplitStep,
    Step,
    Wait,
)

ROOTS: Final[Roots] = {
    "message": frozenset(MESSAGE_FIELDS),
    "body": None,
    "attempt": frozenset(),
    "kept": None,
    "answer": None,
    "answers": None,
    "business_errors": None,
}
"""The names that the expressions of a step can read."""
_ERRORS: Final[dict[Failure, type[ProcessingError]]] = {
    "validation": ValidationError,
    "business": BusinessError,
    "nothing found": NothingFoundError,
    "several found": SeveralFoundError,
    "technical": TechnicalError,
}


class _Attempt:
    """The state of one attempt while its steps run."""

    def __init__(self, exchange: Exchange) -> None:
        message = exchange.message
        self.exchange = exchange
        self.answers: dict[str, Any] = {}
        self._fixed: Record = {
            "message": {name: getattr(message, name) for name in MESSAGE_FIELDS},
            "body": read_json_or_text(message.body),
            "attempt": message.failed + 1,
            "answer": None if message.answer is None else read_json_or_text(message.answer),
        }

    @property
    def record(self) -> Record:
        kept = self.exchange.custom_data
        return self._fixed | {
            "kept": None if kept is None else read_json_or_text(kept.encode()),
            "answers": self.answers,
            "business_errors": list(self.exchange.business_errors),
        }


def build_route(steps: Sequence[Step]) -> PythonRoute:
    """Build the route that runs the steps in their order."""
    prepared = [(compile_condition(step.when), step) for step in steps]

    def route(exchange: Exchange) -> None:
        attempt = _Attempt(exchange)
        for holds, step in prepared:
            if holds(attempt.record) and _HANDLERS[type(step)](attempt, step):
                return

    return route


def _call(attempt: _Attempt, step: CallStep) -> bool:
    exchange, record = attempt.exchange, attempt.record
    by_default = KeyKind.ENTITY if exchange.message.object_id else KeyKind.MESSAGE
    request = exchange.body if step.request is None else _fill_bytes(step.request, record)
    call = exchange.call_collecting if step.business_errors == "collect" else exchange.call
    answer = call(
        step.system,
        request,
        # A newer message makes an older one obsolete only if both name an object.
        kind=step.known_by or by_default,
        key=None
        if step.key is None
        else fill_required(step.key, record, f"the key of the call to {step.system}"),
        operation=step.operation,
    )
    if answer is not None:
        attempt.answers[step.name] = read_json_or_text(answer)
    return False


def _funnel(attempt: _Attempt, step: Funnel) -> bool:
    exchange = attempt.exchange
    value = fill_required(step.value, attempt.record, "the value of the funnel")
    component = step.component or f"{exchange.message.service}.{exchange.message.operation}"
    if step.in_order:
        exchange.funnel_in_order(value, component, without_failed=step.without_failed)
    else:
        exchange.funnel(value, component)
    return False


def _split(attempt: _Attempt, step: SplitStep) -> bool:
    exchange, record = attempt.exchange, attempt.record
    exchange.split(
        [child for each in step.children for child in _build_children(each, record, exchange.body)]
    )
    return True


def _build_children(declared: DeclaredChild, record: Record, body: bytes) -> Iterator[Child]:
    if declared.each is None:
        yield _build_child(declared, record, body, {})
        return
    elements = fill_template(declared.each, record)
    if elements is not None and not isinstance(elements, list):
        raise ValidationError(f"{declared.each} is {elements!r}, which is not a list to split")
    for element in elements or ():
        yield _build_child(declared, record, _encode(element), {"element": element})


def _build_child(declared: DeclaredChild, record: Record, body: bytes, within: dict[str, Any]) -> Child:
    return Child(
        service=declared.service,
        operation=declared.operation,
        body=body if declared.body is None else _fill_bytes(declared.body, record, **within),
        object_id=fill_text(declared.object_id, record, **within),
        entity_type=fill_text(declared.entity_type, record, **within),
        funnel=fill_text(declared.funnel, record, **within),
        binding=declared.binding,
    )


def _keep(attempt: _Attempt, step: Keep) -> bool:
    value = fill_template(step.value, attempt.record)
    plain = value is None or (isinstance(value, str) and read_json_or_text(value.encode()) == value)
    attempt.exchange.custom_data = value if plain else msgspec.json.encode(value).decode()
    return False


def _remember(attempt: _Attempt, step: Remember) -> bool:
    exchange = attempt.exchange
    why = fill_required(step.why, attempt.record, "the business error")
    # A later attempt runs this step again with the same reason.
    if why not in exchange.business_errors:
        exchange.business_error(why)
    return False


def _wait(attempt: _Attempt, _: Wait) -> bool:
    if attempt.exchange.message.answer is not None:
        return False
    attempt.exchange.wait_for_answer()
    return True


def _fail(attempt: _Attempt, step: Fail) -> bool:
    raise _ERRORS[step.kind](fill_text(step.why, attempt.record) or f"a {step.kind} error")


def _end(attempt: _Attempt, step: EndStep) -> bool:
    attempt.exchange.no_effect = step.kind == "no effect"
    return True


def _fill_bytes(template: Any, record: Record, **within: Any) -> bytes:
    return _encode(fill_template(template, record, **within))


def _encode(value: Any) -> bytes:
    if value is None:
        return b""
    return value.encode() if isinstance(value, str) else msgspec.json.encode(value)


_HANDLERS: Final[dict[type[Step], Callable[[_Attempt, Any], bool]]] = {
    CallStep: _call,
    Funnel: _funnel,
    SplitStep: _split,
    Keep: _keep,
    Remember: _remember,
    Wait: _wait,
    Fail: _fail,
    EndStep: _end,
}
"""Each function runs one kind of step and returns True when the route ends there."""
