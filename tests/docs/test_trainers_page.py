"""The trainers' guide says what was measured, and knows every lesson of the course."""

from __future__ import annotations

import re

from sandbox.learn.lesson import Language, read_course
from sandbox.scenarios.scenario import library
from tests.bench.classroom import SEATS
from tests.docs.classroom_table import PAGE, page

TEXT = PAGE.read_text(encoding="utf-8")


def test_the_table_is_that_of_the_benchmark() -> None:
    """``python -m tests.docs.classroom_table`` renews it."""
    assert page() == TEXT
    assert f"| {SEATS} at rest, memory |" in TEXT


def test_the_table_of_lessons_is_that_of_the_course() -> None:
    """Each by its number and title, with a scenario that there is."""
    rows = re.findall(r"^\| (\d+) \| ([^|]+) \| [^|]+ \| `([a-z-]+)` \|$", TEXT, re.MULTILINE)
    titles = {int(number): title for number, title, _ in rows}
    assert sorted(titles) == list(range(1, 11))
    for lesson in read_course():
        assert titles[lesson.number] == lesson.title
    assert {scenario for _, _, scenario in rows} <= library().keys()


def test_the_lessons_in_javascript_are_named() -> None:
    """As many as have a client in it."""
    numbers = [str(each.number) for each in read_course() if Language.JAVASCRIPT in each.languages]
    assert f"Lessons {', '.join(numbers[:-1])} and {numbers[-1]} are in JavaScript too" in TEXT
