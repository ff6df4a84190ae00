"""Filters and records for tests of the filter language."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st

NAMES = ("a", "b", "c")
TEXTS = ("", "1", "2.0", "2", "-3", "zebra", "1e2", "it's", "A", "\u00e9")
NUMBERS = (0, 1, 2, 2.0, -3, 0.5, 100, 10**20)
OPERATORS = ("=", "!=", "<", "<=", ">", ">=")

scalars = st.one_of(st.none(), st.booleans(), st.sampled_from(NUMBERS), st.sampled_from(TEXTS))
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=3),
    max_leaves=8,
)
records = st.dictionaries(st.sampled_from(NAMES), values, max_size=3) | values

steps = st.sampled_from(NAMES) | st.integers(0, 2)
identifiers = st.tuples(st.sampled_from(NAMES), st.lists(steps, max_size=2)).map(
    lambda parts: ("path", (parts[0], *parts[1]))
)
literals = st.sampled_from((*NUMBERS, *TEXTS)).map(lambda value: ("literal", value))
operands = identifiers | literals

_comparisons = st.tuples(st.sampled_from(OPERATORS), operands, operands)
_predicates = st.one_of(
    _comparisons,
    st.tuples(st.just("null"), operands),
    st.tuples(st.just("between"), operands, operands, operands),
    st.tuples(st.just("like"), operands, st.sampled_from(("^z", "1", "[A-Z]", "(?i)ZEB", "(.)E", "'"))),
    st.lists(operands, min_size=2, max_size=4).map(lambda parts: ("in", *parts)),
)
conditions = st.recursive(
    _predicates,
    lambda inner: st.one_of(
        st.tuples(st.just("not"), inner),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: ("and", *parts)),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: ("or", *parts)),
    ),
    max_leaves=6,
)


def spelled(tree: tuple[Any, ...]) -> str:
    """The condition as a filter's text."""
    kind, *parts = tree
    if kind in {"and", "or"}:
        return f" {kind.upper()} ".join(f"({spelled(part)})" for part in parts)
    if kind == "not":
        return f"NOT ({spelled(parts[0])})"
    first, *others = [part if isinstance(part, str) else operand(part) for part in parts]
    after = {
        "null": lambda: "IS NULL",
        "between": lambda: f"BETWEEN {others[0]} AND {others[1]}",
        "like": lambda: f"LIKE {quoted(others[0])}",
        "in": lambda: f"IN ({', '.join(others)})",
    }
    return f"{first} {after[kind]() if kind in after else f'{kind} {others[0]}'}"


def operand(value: tuple[str, Any]) -> str:
    kind, said = value
    if kind == "path":
        return "".join(f"[{step}]" if isinstance(step, int) else f"/{step}" for step in said)
    return quoted(said) if isinstance(said, str) else str(said)


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
