"""Topic patterns: all that match a key are found, whatever they are, and finding them takes little."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.amqp.topic_patterns import TopicPatterns

WORDS = st.lists(st.sampled_from(["a", "b", ""]), max_size=5).map(".".join)
PATTERNS = st.lists(st.sampled_from(["a", "b", "", "*", "#"]), max_size=6).map(".".join)


def matches(pattern: list[str], words: list[str]) -> bool:
    """The rule as RabbitMQ's tutorial gives it, word by word."""
    if not pattern:
        return not words
    if pattern[0] == "#":
        return any(matches(pattern[1:], words[skipped:]) for skipped in range(len(words) + 1))
    return bool(words) and pattern[0] in ("*", words[0]) and matches(pattern[1:], words[1:])


def split(text: str) -> list[str]:
    return text.split(".") if text else []


@given(
    bound=st.lists(PATTERNS, max_size=8),
    unbound=st.lists(st.integers(0, 7), max_size=4),
    keys=st.lists(WORDS, max_size=5),
)
def test_each_pattern_that_matches_is_found_once(
    bound: list[str], unbound: list[int], keys: list[str]
) -> None:
    """Also when patterns go, and when one is bound more than once."""
    patterns: TopicPatterns[str] = TopicPatterns()
    left: Counter[str] = Counter()
    for pattern in bound:
        patterns.add(pattern, pattern)
        left[pattern] += 1
        list(patterns.match("a.b"))
    for number in unbound:
        if number < len(bound) and left[bound[number]]:
            patterns.remove(bound[number], bound[number])
            left[bound[number]] -= 1
    for key in keys:
        found = [end for end in patterns.match(key) if end is not None]
        assert sorted(found) == sorted(each for each in +left if matches(split(each), split(key)))


def test_a_pattern_that_is_not_there_cannot_be_removed() -> None:
    """KeyError says so."""
    with pytest.raises(KeyError):
        TopicPatterns[int]().remove("a.b", 1)


def test_patterns_that_lead_to_many_places_cost_work_once() -> None:
    """Twenty of ``#.a.#.a...`` and a key of 120 words: 200 messages of these took 54 seconds."""
    patterns: TopicPatterns[int] = TopicPatterns()
    for number in range(20):
        patterns.add(".".join(["#", "a"] * 30) + f".b{number}", number)
    key = ".".join(["a"] * 120)
    assert list(patterns.match(key)) == [None] * 31
    assert [list(patterns.match(key)) for _ in range(200)] == [[]] * 200
