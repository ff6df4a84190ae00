"""Conditions on the facts of a run: a comparison with a number, a duration or another fact."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from rdss_sandbox.text.durations import seconds

_COMPARISONS: Final[dict[str, Callable[[float, float], bool]]] = {
    "==": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
_WRITTEN: Final = re.compile(r"(==|!=|>=|<=|>|<)\s*(\S+)\Z")
_FACT: Final = re.compile(r"[a-z_]+(\.[A-Za-z0-9_-]+)?\Z")


class ConditionError(ValueError):
    """The text is not a condition."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A comparison ``sign`` and its right side: a number, a duration in seconds, or the name of a fact."""

    sign: str
    wanted: float | str

    def holds(self, value: float, facts: Mapping[str, float]) -> bool:
        """Whether the condition is true for a value; ``facts`` are the other facts of the run."""
        right = facts.get(self.wanted, 0) if isinstance(self.wanted, str) else self.wanted
        return _COMPARISONS[self.sign](value, right)

    def describe(self, facts: Mapping[str, float]) -> str:
        """The condition as text for a table: ``40``, ``at least 3``."""
        right = facts.get(self.wanted, 0) if isinstance(self.wanted, str) else self.wanted
        text = f"{right:,.10g}"
        return text if self.sign == "==" else f"{_WORDS[self.sign]} {text}"


_WORDS: Final = {
    "!=": "other than",
    ">=": "at least",
    "<=": "at most",
    ">": "more than",
    "<": "less than",
}


def read_condition(written: float | str) -> Condition:
    """Parse a number or a text such as ``">= 3"``, ``"<= 90s"``, ``"== offered"``. Raises ConditionError."""
    if isinstance(written, int | float):
        return Condition("==", float(written))
    found = _WRITTEN.match(written.strip())
    if not found:
        signs = " ".join(_COMPARISONS)
        raise ConditionError(f"{written!r} is not a condition: give a number, or one of {signs} before one")
    sign, right = found.groups()
    try:
        return Condition(sign, seconds(right))
    except ValueError:
        if _FACT.match(right):
            return Condition(sign, right)
        raise ConditionError(f"{right!r} is not a number, length of time or fact") from None
