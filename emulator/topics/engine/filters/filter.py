"""A compiled filter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from emulator.topics.engine.filters.compiling import compile_condition
from emulator.topics.engine.filters.indexing import Equality, equalities
from emulator.topics.engine.filters.parsing import parse
from emulator.topics.engine.filters.syntax import count_conditions, has_identifier


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
