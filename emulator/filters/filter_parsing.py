"""Parses the text of a filter to a syntax tree; errors give the position."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from emulator.filters import syntax as s
from emulator.filters.record_paths import steps
from emulator.filters.values import number_in
from emulator.patterns import BadPatternError, Pattern

if TYPE_CHECKING:
    from lark import Lark, Token, UnexpectedInput

LONGEST = 10_000
"""The maximal characters of a filter: parsing takes a tenth of a second, in which a caller holds its lock."""
MOST_CONDITIONS = 200
"""The maximal number of comparisons and other elementary conditions in one filter."""
# Trees are gone through by calls within each other.
_DEEPEST = 100
# Integers have no bounds, and each product may have twice as many digits.
_MOST_OPERATIONS = 100
_CONDITIONS = frozenset(
    f"{negated}{kind}" for kind in ("between", "membership", "match", "is_null") for negated in ("", "not_")
) | {"comparison", "is_not_null"}
_SAME = {"==": "=", "<>": "!="}
_NAMES = {
    "COMPARED": "a comparison",
    "SIGN": "+ or -",
    "TIMES": "* / or %",
    "NUMBER": "a number",
    "STRING": "a string",
    "PATH": "an identifier",
    "LPAR": "(",
    "RPAR": ")",
    "COMMA": ",",
    "$END": "the end",
}


class FilterSyntaxError(ValueError):
    """A filter is not valid; ``position`` is that of the error, in characters from 0."""

    def __init__(self, why: str, text: str, position: int) -> None:
        shown = text if len(text) <= 80 else f"{text[: max(position, 40) + 40]}..."
        super().__init__(f"{why} at character {position + 1} of filter: {shown}")
        self.why = why
        self.position = position


class _TooMuchError(ValueError):
    """A filter is too expensive to evaluate; the message says why."""


def parse(text: str) -> s.Condition:
    """Parse a filter. Raises FilterError."""
    from lark import UnexpectedInput

    if len(text) > LONGEST:
        raise FilterSyntaxError(
            f"a filter of {len(text)} characters, and {LONGEST} are the most,", text, LONGEST
        )
    try:
        tree = _parser().parse(text)
    except UnexpectedInput as error:
        raise FilterSyntaxError(_why(error), text, _place(error, text)) from None
    builder = _Builder(text)
    try:
        condition: s.Condition = builder.built(tree.children[0], 0)
    except _TooMuchError as error:
        raise FilterSyntaxError(str(error), text, 0) from None
    return condition


@cache
def _parser() -> Lark:
    from lark import Lark

    grammar = files("emulator.filters").joinpath("filter.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", propagate_positions=False, maybe_placeholders=False)


def _why(error: UnexpectedInput) -> str:
    expected: set[str] = set(getattr(error, "accepts", None) or getattr(error, "allowed", None) or ())
    terminals = sorted(_NAMES.get(name, name.strip("_")) for name in expected)
    token = getattr(error, "token", None)
    found = getattr(error, "char", None) if token is None else str(token)
    if token is None and found in {"'", '"'}:
        return f"a string that begins with {found} and does not end"
    reason = f"unexpected {found!r}" if found else "it ends too early"
    return f"{reason} (expected {', '.join(terminals)})" if terminals else reason


def _place(error: UnexpectedInput, text: str) -> int:
    place = error.pos_in_stream
    ended = getattr(getattr(error, "token", None), "type", None) == "$END"
    return len(text) if place is None or place < 0 or ended else place


def _unquote(token: Token) -> str:
    quote = token[0]
    return str(token[1:-1]).replace(quote * 2, quote)


class _Builder:
    """Builds the syntax tree from the parser's tree, with one method for each rule of the grammar."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._operations = 0
        self._conditions = 0

    def built(self, tree: Any, depth: int) -> Any:
        if depth > _DEEPEST:
            raise _TooMuchError(f"nested deeper than {_DEEPEST} levels")
        if tree.data in _CONDITIONS:
            self._conditions += 1
            if self._conditions > MOST_CONDITIONS:
                raise _TooMuchError(f"more than {MOST_CONDITIONS} conditions; IN takes many values as one")
        children = [
            child if isinstance(child, str) else self.built(child, depth + 1) for child in tree.children
        ]
        return getattr(self, str(tree.data))(*children)

    def either(self, *conditions: s.Condition) -> s.Condition:
        return s.Or(conditions)

    def both(self, *conditions: s.Condition) -> s.Condition:
        return s.And(conditions)

    def negation(self, condition: s.Condition) -> s.Condition:
        return s.Not(condition)

    def comparison(self, left: s.Value, operator: str, right: s.Value) -> s.Condition:
        return s.Comparison(_SAME.get(operator, str(operator)), left, right)

    def between(self, value: s.Value, low: s.Value, high: s.Value) -> s.Condition:
        return s.Between(value, low, high)

    def not_between(self, value: s.Value, low: s.Value, high: s.Value) -> s.Condition:
        return s.Otherwise(value, s.Between(value, low, high))

    def membership(self, value: s.Value, *items: s.Value) -> s.Condition:
        return s.Membership(value, items)

    def not_membership(self, value: s.Value, *items: s.Value) -> s.Condition:
        return s.Otherwise(value, s.Membership(value, items))

    def match(self, value: s.Value, pattern: Token) -> s.Condition:
        return s.Match(value, self._pattern(pattern))

    def not_match(self, value: s.Value, pattern: Token) -> s.Condition:
        return s.Otherwise(value, s.Match(value, self._pattern(pattern)))

    def is_null(self, value: s.Value) -> s.Condition:
        return s.IsNull(value)

    def is_not_null(self, value: s.Value) -> s.Condition:
        return s.Not(s.IsNull(value))

    def product(self, first: s.Value, *rest: Any) -> s.Value:
        for operator, value in zip(rest[::2], rest[1::2], strict=True):
            first = self._calculated(str(operator), first, value)
        return first

    def total(self, first: s.Value, *rest: Any) -> s.Value:
        return self.product(first, *rest)

    def signed(self, sign: str, value: s.Value) -> s.Value:
        return self._calculated(str(sign), s.Literal(0), value)

    def number(self, token: Token) -> s.Value:
        return s.Literal(number_in(str(token)))

    def string(self, token: Token) -> s.Value:
        return s.Literal(_unquote(token))

    def path(self, token: Token) -> s.Value:
        return s.Identifier(steps(str(token)))

    def true(self) -> s.Value:
        return s.Literal(1)

    def false(self) -> s.Value:
        return s.Literal(0)

    def null(self) -> s.Value:
        return s.Literal(None)

    def _calculated(self, operator: str, left: s.Value, right: s.Value) -> s.Value:
        self._operations += 1
        if self._operations > _MOST_OPERATIONS:
            raise _TooMuchError(f"more than {_MOST_OPERATIONS} arithmetic operations")
        return s.Arithmetic(operator, left, right)

    def _pattern(self, token: Token) -> Pattern:
        try:
            return Pattern(_unquote(token))
        except BadPatternError as error:
            place = (token.start_pos or 0) + 1
            raise FilterSyntaxError(f"no regular expression ({error})", self._text, place) from None
