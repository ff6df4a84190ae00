"""What is wrong with an integration whose every part is of the right shape: unknown names, contradictions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from emulator.patterns import BadPatternError, Pattern
from emulator.settings.setting_errors import Step as Key
from sandbox.processing import declared_routes, telling
from sandbox.processing.calls import KeyKind
from sandbox.processing.expressions import BadExpressionError, Roots, check_condition, check_template
from sandbox.processing.integration import Integration, RouteOf
from sandbox.processing.parameters import Parameters
from sandbox.processing.simulated_systems import read_answer
from sandbox.processing.steps import LAST, Call, Fail, Funnel, Keep, Remember, Split, Step, Wait
from sandbox.processing.telling import ByHttp, ByRdss, ByTopic, Way

_MOST_CONSUMERS: Final = 100
_POSITIVE: Final = ("poll_period", "lease")
_LIMIT: Final = re.compile(r"[^.]+\.[^.]+")
_HEADER: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_TOPIC: Final = re.compile(r"[\w./:-]+")
_STREAM: Final = re.compile(r"[\w.-]{1,128}", re.ASCII)


class Wrong(NamedTuple):
    """Where in the file, and what is wrong there and what would do."""

    path: tuple[Key, ...]
    why: str


def wrong_in(found: Integration) -> Iterator[Wrong]:
    """Everything that cannot be meant, in the order of the sections."""
    for name, system in found.systems.items():
        for answer in system.script:
            yield from _tried(partial(read_answer, answer), "systems", name, "script")
    yield from _wrong_with_routes(found)
    sources: set[str] = set()
    for source, way in found.confirm.items():
        if source.upper() in sources:
            why = f"{source.upper()} is declared already; a source is the same in capitals or not"
            yield Wrong(("confirm", source), why)
        sources.add(source.upper())
        for wrong in _wrong_with_way(way):
            yield Wrong(("confirm", source, *wrong.path), wrong.why)
    for wrong in _wrong_with_parameters(found.parameters):
        yield Wrong(("parameters", *wrong.path), wrong.why)


def _wrong_with_routes(found: Integration) -> Iterator[Wrong]:
    seen: dict[tuple[str, str], int] = {}
    for at, route in enumerate(found.routes):
        here, name = ("routes", at), f"{route.service}.{route.operation}"
        if (first := seen.setdefault((route.service, route.operation), at)) != at:
            yield Wrong(here, f"{name} has a route already, the {first + 1}. here; put their steps into one")
        if bool(route.calls) == bool(route.steps):
            why = (
                "both calls and steps; write the calls as steps" if route.calls else "neither calls nor steps"
            )
            yield Wrong(here, f"{name} has {why}")
        if route.calls:
            yield from (Wrong((*here, "calls"), wrong.why) for wrong in _wrong_with_steps(route, found))
        else:
            for wrong in _wrong_with_steps(route, found):
                yield Wrong((*here, "steps", *wrong.path), wrong.why)
    yield from _endless(found)


def _wrong_with_steps(route: RouteOf, found: Integration) -> Iterator[Wrong]:
    """Each path begins with the number of a step."""
    answers: set[str] = set()
    calls: dict[object, int] = {}
    waits: int | None = None
    for at, step in enumerate(route.taken):
        roots = {**declared_routes.ROOTS, "answers": frozenset(answers)}
        for wrong in _wrong_with_step(step, roots, found):
            yield Wrong((at, *wrong.path), wrong.why)
        if isinstance(step, LAST) and step.when is None and at + 1 < len(route.taken):
            why = "no step behind it is ever reached; give it a condition, when, or take those away"
            yield Wrong((at,), why)
        if isinstance(step, Wait):
            if waits is not None:
                why = f"step {waits + 1} waits already, and a message is given one answer; wait once"
                yield Wrong((at,), why)
            waits = at
        if isinstance(step, Call):
            answers.add(step.name)
            call = (step.name, step.known_by, repr(step.key))
            if step.when is None and call in calls:
                why = (
                    f"step {calls[call] + 1} is the same call, which is made once for a message; "
                    "give one of them a key"
                )
                yield Wrong((at,), why)
            if step.when is None:
                calls.setdefault(call, at)


def _wrong_with_step(step: Step, roots: Roots, found: Integration) -> Iterator[Wrong]:
    if step.when is not None:
        yield from _tried(lambda: check_condition(str(step.when), roots), "when")
    match step:
        case Call():
            yield from _wrong_with_call(step, roots, found)
        case Funnel():
            yield from _template(step.value, roots, "value")
            if step.without_failed and not step.in_order:
                yield Wrong(
                    ("without_failed",), "it is about the order; write in_order = true, or leave it out"
                )
            if step.component is not None and not step.in_order:
                yield Wrong(("component",), "it is about the order; write in_order = true, or leave it out")
        case Split():
            yield from _wrong_with_children(step, roots, found)
        case Keep():
            yield from _template(step.value, roots, "value")
        case Remember() | Fail():
            yield from _template(step.why, roots, "why")


def _wrong_with_call(step: Call, roots: Roots, found: Integration) -> Iterator[Wrong]:
    if step.system not in found.systems:
        there = ", ".join(found.systems) or "none"
        yield Wrong(
            ("system",), f"there is no system {step.system!r}; there are: {there}; [systems.NAME] makes one"
        )
    if step.request is not None:
        yield from _template(step.request, roots, "request")
    if step.key is not None:
        yield from _template(step.key, roots, "key")
    elif step.known_by is KeyKind.CUSTOM:
        yield Wrong(("known_by",), "a call that is known by a custom key needs one; give it a key")


def _wrong_with_children(step: Split, roots: Roots, found: Integration) -> Iterator[Wrong]:
    if not step.children:
        yield Wrong(("children",), "there is none; give at least one child")
    routes = {(route.service, route.operation) for route in found.routes}
    for at, child in enumerate(step.children):
        here = ("children", at)
        if (child.service, child.operation) not in routes:
            there = ", ".join(f"{service}.{operation}" for service, operation in routes)
            why = f"no route is for {child.service}.{child.operation}; there are: {there}"
            yield Wrong((*here, "operation"), why)
        if child.each is not None:
            if not child.each.startswith("$"):
                yield Wrong((*here, "each"), f"each is {child.each!r}; give a path, such as $.body.lines")
            yield from _template(child.each, roots, *here, "each")
        for name in ("body", "object_id", "entity_type", "funnel"):
            value = getattr(child, name)
            yield from _template(value, roots, *here, name, within_list=child.each is not None)


def _endless(found: Integration) -> Iterator[Wrong]:
    """Routes that always split into one another, so that no message of theirs would ever end."""
    always = {
        (route.service, route.operation): {
            (child.service, child.operation)
            for step in route.taken
            if isinstance(step, Split) and step.when is None
            for child in step.children
            if child.each is None
        }
        for route in found.routes
    }
    for at, route in enumerate(found.routes):
        own, reached = (route.service, route.operation), set[tuple[str, str]]()
        ahead = set(always[own])
        while ahead - reached:
            reached |= ahead
            ahead = {after for each in reached for after in always.get(each, ())}
        if own in reached:
            why = f"{'.'.join(own)} is split into itself for ever; give the split a condition, when"
            yield Wrong(("routes", at), why)


def _wrong_with_way(way: Way) -> Iterator[Wrong]:
    match way:
        case ByHttp():
            yield from _wrong_with_url(way.url)
            for name, value in way.headers.items():
                if not (_HEADER.fullmatch(name) and value.isprintable() and value.isascii()):
                    yield Wrong(("headers", name), f"{name!r}: {value!r} is no header of HTTP")
            yield from _template(way.body, telling.ROOTS, "body")
        case ByTopic():
            if not _TOPIC.fullmatch(way.topic):
                yield Wrong(
                    ("topic",), f"{way.topic!r} is no topic; a name has letters, digits and . / : _ -"
                )
            yield from _template(way.body, telling.ROOTS, "body")
        case ByRdss() if not _STREAM.fullmatch(way.stream):
            yield Wrong(("stream",), f"{way.stream!r} is no stream; a name has letters, digits and . _ -")


def _wrong_with_url(url: str) -> Iterator[Wrong]:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or not url.isprintable() or " " in url:
        yield Wrong(("url",), f"{url!r} is no URL that can be called; write http://HOST:PORT/PATH, or https")


def _wrong_with_parameters(found: Parameters) -> Iterator[Wrong]:
    if found.skip_targets is not None:
        yield from _tried(lambda: Pattern(str(found.skip_targets)), "skip_targets")
    for name in Parameters.__dataclass_fields__:
        value = getattr(found, name)
        if isinstance(value, (int, float)) and value < 0:
            yield Wrong((name,), f"{name} is {value}; it is never below 0")
    for name in _POSITIVE:
        if getattr(found, name) == 0:
            yield Wrong((name,), f"{name} is 0; give some seconds")
    if not 1 <= found.consumers <= _MOST_CONSUMERS:
        yield Wrong(("consumers",), f"consumers is {found.consumers}; give 1 to {_MOST_CONSUMERS}")
    yield from _wrong_with_throttling(found)


def _wrong_with_throttling(found: Parameters) -> Iterator[Wrong]:
    for name, limit in (found.throttling or {}).items():
        if not _LIMIT.fullmatch(name):
            yield Wrong(
                ("throttling", name), f"{name!r} is no limit's name; write SOURCE.operation, each may be *"
            )
        if limit.count < 0 or limit.interval <= 0:
            why = f"{limit.count} in {limit.interval:g} s is no limit; give a count of 0 or more, and seconds"
            yield Wrong(("throttling", name), why)


def _template(template: Any, roots: Roots, *path: Key, within_list: bool = False) -> Iterator[Wrong]:
    return _tried(lambda: check_template(template, roots, within_list=within_list), *path)


def _tried(check: Callable[[], object], *path: Key) -> Iterator[Wrong]:
    try:
        check()
    except (BadExpressionError, BadPatternError, ValueError) as error:
        yield Wrong(path, f"{path[-1]}: {error}")
