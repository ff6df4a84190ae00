"""Compiles the syntax tree of a filter to a function of a record."""

from __future__ import annotations

import operator as op
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import singledispatch
from typing import Any, Final, TypeAlias

from emulator.filters import syntax as s
from emulator.filters.filter_parsing import parse
from emulator.filters.indexing import Equality, equalities, literal_keys, value_keys
from emulator.filters.record_paths import reader
from emulator.filters.syntax import count_conditions, has_identifier
from emulator.filters.values import (
    Relation,
    elements,
    extend_operation,
    extend_relation,
    is_null,
    remainder,
    text_of,
)

Read: TypeAlias = Callable[[Any], Any]
Test: TypeAlias = Callable[[Any], bool]

RELATIONS: Final[dict[str, Relation]] = {
    "=": extend_relation(op.eq),
    "!=": extend_relation(op.ne),
    "<": extend_relation(op.lt),
    "<=": extend_relation(op.le),
    ">": extend_relation(op.gt),
    ">=": extend_relation(op.ge),
}
_OPERATIONS: Final = {
    "+": extend_operation(op.add),
    "-": extend_operation(op.sub),
    "*": extend_operation(op.mul),
    "/": extend_operation(op.truediv),
    "%": extend_operation(remainder),
}


@singledispatch
def compile_condition(condition: s.Condition) -> Test:
    """Compile ``condition`` to a test of a record, which never raises."""
    raise TypeError(f"{condition!r} is no condition")


@compile_condition.register
def _(condition: s.And) -> Test:
    tests = tuple(compile_condition(one) for one in condition.conditions)
    # Most have two, for which a generator costs more than the tests.
    if len(tests) == 2:
        one, other = tests
        return lambda record: one(record) and other(record)
    return lambda record: all(test(record) for test in tests)


@compile_condition.register
def _(condition: s.Or) -> Test:
    tests = tuple(compile_condition(one) for one in condition.conditions)
    if len(tests) == 2:
        one, other = tests
        return lambda record: one(record) or other(record)
    return lambda record: any(test(record) for test in tests)


@compile_condition.register
def _(condition: s.Not) -> Test:
    test = compile_condition(condition.condition)
    return lambda record: not test(record)


@compile_condition.register
def _(condition: s.Otherwise) -> Test:
    read, test = _read(condition.value), compile_condition(condition.condition)
    return lambda record: not is_null(read(record)) and not test(record)


@compile_condition.register
def _(condition: s.IsNull) -> Test:
    read = _read(condition.value)
    return lambda record: is_null(read(record))


@compile_condition.register
def _(condition: s.Comparison) -> Test:
    compare, left, right = RELATIONS[condition.operator], _read(condition.left), condition.right
    if isinstance(right, s.Literal):
        constant = right.value
        # The usual filter: two texts need no look at what they are.
        if condition.operator == "=" and isinstance(constant, str) and constant:
            return _test_text(left, constant)
        return lambda record: compare(left(record), constant)
    other = _read(right)
    return lambda record: compare(left(record), other(record))


@compile_condition.register
def _(condition: s.Between) -> Test:
    read, low, high = _read(condition.value), _read(condition.low), _read(condition.high)
    least, most = RELATIONS[">="], RELATIONS["<="]

    def test(record: Any) -> bool:
        lowest, highest = low(record), high(record)
        return any(least(one, lowest) and most(one, highest) for one in elements(read(record)))

    return test


@compile_condition.register
def _(condition: s.Membership) -> Test:
    read, items = _read(condition.value), condition.items
    constants = [item.value for item in items if isinstance(item, s.Literal)]
    if len(constants) == len(items):
        # One look-up for each value of a record, however many constants there are.
        keys = {key for constant in constants for key in literal_keys(constant)}
        return lambda record: any(key in keys for key in value_keys(read(record)))
    equal, reads = RELATIONS["="], tuple(_read(item) for item in items)

    def test(record: Any) -> bool:
        value = read(record)
        return any(equal(value, item(record)) for item in reads)

    return test


@compile_condition.register
def _(condition: s.Match) -> Test:
    read, found_in = _read(condition.value), condition.pattern.found_in

    def test(record: Any) -> bool:
        value = read(record)
        if type(value) is str:
            return bool(value) and found_in(value)
        texts = (text_of(one) for one in elements(value))
        return any(text and found_in(text) for text in texts)

    return test


def _read(value: s.Value) -> Read:
    match value:
        case s.Literal(constant):
            return lambda _: constant
        case s.Identifier(path):
            return reader(path)
        case s.Arithmetic(operator, left, right):
            calculate, one, other = _OPERATIONS[operator], _read(left), _read(right)
            return lambda record: calculate(one(record), other(record))


def _test_text(read: Read, text: str) -> Test:
    equal = RELATIONS["="]

    def test(record: Any) -> bool:
        value = read(record)
        return value == text if type(value) is str else equal(value, text)

    return test


@dataclass(frozen=True, slots=True)
class Filter:
    """A test of a record, which may be any JSON value; it never raises.

    ``equalities`` are those that every matching record fulfils. ``conditions`` counts the others, which have
    to be evaluated. ``by_content is False if the filter reads
    no field. ``holds`` is the plain function, which saves a call in hot loops.
    """

    text: str
    equalities: tuple[Equality, ...] = field(compare=False)
    holds: Callable[[Any], bool] = field(compare=False, repr=False)
    by_content: bool = field(compare=False)
    conditions: int = field(compare=False)

    def __call__(self, record: Any) -> bool:
        return self.holds(record)


def compile_filter(text: str) -> Filter:
    """Compile a filter. Raises FilterError, which gives the position of the error."""
    condition = parse(text)
    required = equalities(condition)
    others = count_conditions(condition) - len(required)
    return Filter(text, required, compile_condition(condition), has_identifier(condition), others)
