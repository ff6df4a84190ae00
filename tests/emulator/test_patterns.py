"""Patterns that people send mean what Python's mean, and take no longer for being spiteful."""

from __future__ import annotations

import re
from time import thread_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.patterns import LONGEST, MOST_STEPS, BadPatternError, Pattern

ATOMS = st.sampled_from(
    ["a", "b", "é", r"\.", ".", "[ab]", "[^a]", "[a-c.]", r"\d", r"\w", r"\s", r"\W", r"\b", r"\B", "^", "$"]
)
REPEATS = st.sampled_from(["", "", "*", "+", "?", "{2}", "{1,3}", "*?", "+?"])
REPEATABLE = re.compile(r"\\[bB]|[\^$]")


def repeated(parts: tuple[str, str]) -> str:
    """A zero-width atom is left alone: what it means many times over nobody needs to know."""
    atom, times = parts
    return atom if REPEATABLE.fullmatch(atom) else atom + times


TERMS = st.tuples(ATOMS, REPEATS).map(repeated)
PATTERNS = st.recursive(
    TERMS,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map("".join),
        st.tuples(inner, inner).map(lambda two: f"(?:{two[0]}|{two[1]})"),
        inner.map(lambda one: f"({one})"),
    ),
    max_leaves=6,
)
TEXTS = st.text(alphabet="ab.c1_ é\n", max_size=12)


@given(pattern=PATTERNS, text=TEXTS, flags=st.sampled_from(["", "(?s)", "(?m)", "(?i)"]))
def test_patterns_mean_what_they_mean_in_python(pattern: str, text: str, flags: str) -> None:
    """Found in a text, and fitting it, exactly when Python's ``re`` says so, classes being ASCII's."""
    if re.search(r"\$.", pattern) or ("$" in pattern and "m" in flags and text.endswith("\n")):
        return  # a $ with more behind it, at the line feed that ends the text
    if not text and r"\B" in pattern:
        return  # Python changed its mind in 3.14
    python, ours = re.compile(flags + pattern, re.ASCII), Pattern(flags + pattern)
    assert ours.found_in(text) == (python.search(text) is not None)
    if "$" not in pattern:
        assert ours.fits(text) == (python.fullmatch(text) is not None)


@pytest.mark.parametrize(
    "pattern",
    [
        "(",
        "a**",
        r"(a)\1",
        "(?=a)",
        "(?<!a)b",
        "(?P<n>a)(?P=n)",
        "a{1001}",
        "(((a{100}){100}){100}){100}",
        "(a?){400}" * 10,
        "a" * (LONGEST + 1),
        r"[\pL\pN]{500}",
    ],
)
def test_what_is_no_pattern_or_too_large_is_refused(pattern: str) -> None:
    """With a reason, and nothing on standard error."""
    with pytest.raises(BadPatternError, match=r"\w+ \w+"):
        Pattern(pattern)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("^(a+)+$", "a" * 1_000_000 + "!"),
        ("(x+x+)+y", "x" * 1_000_000),
        ("(a|a)*b", "a" * 1_000_000),
        ("(x?){300}y", "x" * 40_000),
    ],
)
def test_a_spiteful_pattern_takes_no_time(pattern: str, text: str) -> None:
    """What takes ``re`` longer than the universe has lasted."""
    began = thread_time()
    assert not Pattern(pattern).found_in(text)
    assert thread_time() - began < 2.0


def test_more_work_than_is_done_finds_nothing() -> None:
    pattern = Pattern("(x?){300}")
    assert pattern.found_in("x" * 1000)
    assert not pattern.found_in("x" * (MOST_STEPS // 300))


def test_halves_of_surrogate_pairs_are_characters() -> None:
    """JSON can say them."""
    assert Pattern("^.b$").found_in("\ud800b")
    assert Pattern("\ud800").found_in("a\ud800")
