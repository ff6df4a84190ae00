"""Checks of an integration whose tables have the right shape: unknown names and contradictions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from emulator.patterns import BadPatternError, Pattern
from emulator.settings.wrong_values import Step as Key
from extensions.processing import confirmation_policies, declared_routes
from extensions.processing.calls import KeyKind
from extensions.processing.confirmation_policies import ByHttp, ByRdss, ByTopic, ConfirmBy
from extensions.processing.expressions import BadExpressionError, Roots, check_condition, check_template
from extensions.processing.integration import DeclaredRoute, Integration
from extensions.processing.object_ids import is_pointer
from extensions.processing.processing_parameters import Parameters
from extensions.processing.simulated_systems import read_answer
from extensions.processing.steps import LAST, CallStep, Fail, Funnel, Keep, Remember, SplitStep, Step, Wait

_MOST_CONSUMERS: Final = 100
_POSITIVE: Final = ("poll_period", "lease")
_LIMIT: Final = re.compile(r"[^.]+\.[^.]+")
_HEADER: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_TOPIC: Final = re.compile(r"[\w./:-]+")
_STREAM: Final = re.compile(r"[\w.-]{1,128}", re.ASCII)


class Mistake(NamedTuple):
    """A mistake in the file: its path, and a text that says what is wrong and what to write."""

    path: tuple[Key, ...]
    why: str


def find_mistakes(integration: Integration) -> Iterator[Mistake]:
    """Find all mistakes, in the order of the sections."""
    for name, system in integration.systems.items():
        for answer in system.script:
            yield from _try_check(partial(read_answer, answer), "systems", name, "script")
    yield from _check_routes(integration)
    sources: set[str] = set()
    for source, way in integration.confirm.items():
        if source.upper() in sources:
            why = f"{source.upper()} is declared already; a source is the same in capitals or not"
            yield Mistake(("confirm", source), why)
        sources.add(source.upper())
        for wrong in _check_way(way):
            yield Mistake(("confirm", source, *wrong.path), wrong.why)
    for wrong in _check_parameters(integration.parameters):
        yield Mistake(("parameters", *wrong.path), wrong.why)


def _check_routes(integration: Integration) -> Iterator[Mistake]:
    places: dict[tuple[str, str], int] = {}
    for at, route in enumerate(integration.routes):
        here, name = ("routes", at), f"{route.service}.{route.operation}"
        if (first := places.setdefault((route.service, route.operation), at)) != at:
            yield Mistake(
                here, f"{name} has a route already, the {first + 1}. here; put their steps into one"
            )
        if route.object_id is not None and not is_pointer(route.object_id):
            why = f"{route.object_id!r} is no JSON Pointer (RFC 6901), such as /customer/id"
            yield Mistake((*here, "object_id"), why)
        if bool(route.calls) == bool(route.steps):
            why = (
                "both calls and steps; write the calls as steps" if route.calls else "neither calls nor steps"
            )
            yield Mistake(here, f"{name} has {why}")
        if route.calls:
            yield from (Mistake((*here, "calls"), wrong.why) for wrong in _check_steps(route, integration))
        else:
            for wrong in _check_steps(route, integration):
                yield Mistake((*here, "steps", *wrong.path), wrong.why)
    yield from _find_endless_splits(integration)


def _check_steps(route: DeclaredRoute, integration: Integration) -> Iterator[Mistake]:
    """Find the mistakes in the steps of a route; each path begins with the index of a step."""
    answers: set[str] = set()
    calls: dict[object, int] = {}
    waits: int | None = None
    for at, step in enumerate(route.all_steps):
        roots = {**declared_routes.ROOTS, "answers": frozenset(answers)}
        for wrong in _check_step(step, roots, integration):
            yield Mistake((at, *wrong.path), wrong.why)
        if isinstance(step, LAST) and step.when is None and at + 1 < len(route.all_steps):
            why = "no step behind it is ever reached; give it a condition, when, or take those away"
            yield Mistake((at,), why)
        if isinstance(step, Wait):
            if waits is not None:
                why = f"step {waits + 1} waits already, and a message is given one answer; wait once"
                yield Mistake((at,), why)
            waits = at
        if isinstance(step, CallStep):
            answers.add(step.name)
            call = (step.name, step.known_by, repr(step.key))
            if step.when is None and call in calls:
                why = (
                    f"step {calls[call] + 1} is the same call, which is made once for a message; "
                    "give one of them a key"
                )
                yield Mistake((at,), why)
            if step.when is None:
                calls.setdefault(call, at)


def _check_step(step: Step, roots: Roots, integration: Integration) -> Iterator[Mistake]:
    if step.when is not None:
        yield from _try_check(lambda: check_condition(str(step.when), roots), "when")
    match step:
        case CallStep():
            yield from _check_call(step, roots, integration)
        case Funnel():
            yield from _check_template(step.value, roots, "value")
            if step.without_failed and not step.in_order:
                yield Mistake(
                    ("without_failed",), "it is about the order; write in_order = true, or leave it out"
                )
            if step.component is not None and not step.in_order:
                yield Mistake(("component",), "it is about the order; write in_order = true, or leave it out")
        case SplitStep():
            yield from _check_children(step, roots, integration)
        case Keep():
            yield from _check_template(step.value, roots, "value")
        case Remember() | Fail():
            yield from _check_template(step.why, roots, "why")


def _check_call(step: CallStep, roots: Roots, integration: Integration) -> Iterator[Mistake]:
    if step.system not in integration.systems:
        there = ", ".join(integration.systems) or "none"
        yield Mistake(
            ("system",), f"there is no system {step.system!r}; there are: {there}; [systems.NAME] makes one"
        )
    if step.request is not None:
        yield from _check_template(step.request, roots, "request")
    if step.key is not None:
        yield from _check_template(step.key, roots, "key")
    elif step.known_by is KeyKind.CUSTOM:
        yield Mistake(("known_by",), "a call that is known by a custom key needs one; give it a key")


def _check_children(step: SplitStep, roots: Roots, integration: Integration) -> Iterator[Mistake]:
    if not step.children:
        yield Mistake(("children",), "there is none; give at least one child")
    routes = {(route.service, route.operation) for route in integration.routes}
    for at, child in enumerate(step.children):
        here = ("children", at)
        if (child.service, child.operation) not in routes:
            there = ", ".join(f"{service}.{operation}" for service, operation in routes)
            why = f"no route is for {child.service}.{child.operation}; there are: {there}"
            yield Mistake((*here, "operation"), why)
        if child.each is not None:
            if not child.each.startswith("$"):
                yield Mistake((*here, "each"), f"each is {child.each!r}; give a path, such as $.body.lines")
            yield from _check_template(child.each, roots, *here, "each")
        for name in ("body", "object_id", "entity_type", "funnel"):
            value = getattr(child, name)
            yield from _check_template(value, roots, *here, name, within_list=child.each is not None)


def _find_endless_splits(integration: Integration) -> Iterator[Mistake]:
    """Find routes that always split into one another, so that their messages would never end."""
    always = {
        (route.service, route.operation): {
            (child.service, child.operation)
            for step in route.all_steps
            if isinstance(step, SplitStep) and step.when is None
            for child in step.children
            if child.each is None
        }
        for route in integration.routes
    }
    for at, route in enumerate(integration.routes):
        own, reached = (route.service, route.operation), set[tuple[str, str]]()
        ahead = set(always[own])
        while ahead - reached:
            reached |= ahead
            ahead = {after for each in reached for after in always.get(each, ())}
        if own in reached:
            why = f"{'.'.join(own)} is split into itself for ever; give the split a condition, when"
            yield Mistake(("routes", at), why)


def _check_way(way: ConfirmBy) -> Iterator[Mistake]:
    match way:
        case ByHttp():
            yield from _check_url(way.url)
            for name, value in way.headers.items():
                if not (_HEADER.fullmatch(name) and value.isprintable() and value.isascii()):
                    yield Mistake(("headers", name), f"{name!r}: {value!r} is no header of HTTP")
            yield from _check_template(way.body, confirmation_policies.ROOTS, "body")
        case ByTopic():
            if not _TOPIC.fullmatch(way.topic):
                yield Mistake(
                    ("topic",), f"{way.topic!r} is no topic; a name has letters, digits and . / : _ -"
                )
            yield from _check_template(way.body, confirmation_policies.ROOTS, "body")
        case ByRdss() if not _STREAM.fullmatch(way.stream):
            yield Mistake(("stream",), f"{way.stream!r} is no stream; a name has letters, digits and . _ -")


def _check_url(url: str) -> Iterator[Mistake]:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or not url.isprintable() or " " in url:
        yield Mistake(
            ("url",), f"{url!r} is no URL that can be called; write http://HOST:PORT/PATH, or https"
        )


def _check_parameters(parameters: Parameters) -> Iterator[Mistake]:
    if parameters.skip_targets is not None:
        yield from _try_check(lambda: Pattern(str(parameters.skip_targets)), "skip_targets")
    for name in Parameters.__dataclass_fields__:
        value = getattr(parameters, name)
        if isinstance(value, (int, float)) and value < 0:
            yield Mistake((name,), f"{name} is {value}; it is never below 0")
    for name in _POSITIVE:
        if getattr(parameters, name) == 0:
            yield Mistake((name,), f"{name} is 0; give some seconds")
    if not 1 <= parameters.consumers <= _MOST_CONSUMERS:
        yield Mistake(("consumers",), f"consumers is {parameters.consumers}; give 1 to {_MOST_CONSUMERS}")
    yield from _check_throttling(parameters)


def _check_throttling(parameters: Parameters) -> Iterator[Mistake]:
    for name, limit in (parameters.throttling or {}).items():
        if not _LIMIT.fullmatch(name):
            yield Mistake(
                ("throttling", name), f"{name!r} is no limit's name; write SOURCE.operation, each may be *"
            )
        if limit.count < 0 or limit.interval <= 0:
            why = f"{limit.count} in {limit.interval:g} s is no limit; give a count of 0 or more, and seconds"
            yield Mistake(("throttling", name), why)


def _check_template(template: Any, roots: Roots, *path: Key, within_list: bool = False) -> Iterator[Mistake]:
    return _try_check(lambda: check_template(template, roots, within_list=within_list), *path)


def _try_check(check: Callable[[], object], *path: Key) -> Iterator[Mistake]:
    try:
        check()
    except (BadExpressionError, BadPatternError, ValueError) as error:
        yield Mistake(path, f"{path[-1]}: {error}")
