"""The trainers' guide says what was measured, and knows every lesson of the course."""

from __future__ import annotations

import re

from sandbox.learn.lesson import Language, read_course
from sandbox.scenarios.scenario import library
from tests.bench.classroom import SEATS
from tests.docs.classroom_table import PAGE, page
from tests.docs.pages import ROOT
from tui.keys.actions import ACTIONS

WATCH_PAGE = ROOT / "emulator/listeners/control/watch/watch.html"

TEXT = PAGE.read_text(encoding="utf-8")


def test_the_table_is_that_of_the_benchmark() -> None:
    """``python -m tests.docs.classroom_table`` renews it."""
    assert page() == TEXT
    assert f"| {SEATS} at rest, memory |" in TEXT


def test_the_table_of_lessons_is_that_of_the_course() -> None:
    """Each by its number and title, with a scenario that there is."""
    rows = re.findall(r"^\| (\d+) \| ([^|]+) \| [^|]+ \| `([a-z-]+)` \|$", TEXT, re.MULTILINE)
    titles = {int(number): title for number, title, _ in rows}
    assert sorted(titles) == list(range(1, 12))
    for lesson in read_course():
        assert titles[lesson.number] == lesson.title
    assert {scenario for _, _, scenario in rows} <= library().keys()


def test_the_pictures_are_where_the_guide_says() -> None:
    """Each screen of the TUI by its digit and its name, each key of the watch page by what it does."""
    names = {action.keys: action.label for action in ACTIONS if ".go_" in action.id}
    screens = re.findall(r"screen (\d), (\w+)", TEXT)
    assert len(screens) >= 5
    for digit, name in screens:
        assert names[digit] == name
    keys = WATCH_PAGE.read_text(encoding="utf-8")
    for described in (
        "1 to 9</dt><dd>go to a stream",
        "o</dt><dd>show only the stream",
        "h</dt><dd>hold",
        "c</dt><dd>open the control room",
    ):
        assert f"<dt>{described}" in keys


def test_the_agenda_shows_every_picture_and_holds_every_lesson() -> None:
    """A day has all eleven lessons and all eight pictures; half a day goes forward in time."""
    pictures = re.findall(r"^(\d)\. \*\*", TEXT, re.MULTILINE)
    half, day = (
        TEXT.partition(f"\n## {title}\n")[2].partition("\n## ")[0] for title in ("Half a day", "A day")
    )
    shown = {*re.findall(r"\d", " ".join(re.findall(r"pictures? ([\d, ]+)", half + day)))}
    assert shown == {*pictures}
    named = re.sub(r"lessons 1, 2 and 3", "lesson 1 lesson 2 lesson 3", day)
    named = named.replace("then 5 and 6", "lesson 5 lesson 6")
    assert {*map(int, re.findall(r"[Ll]esson (\d+)", named))} == {*range(1, 12)}
    for table in (half, day):
        times = [60 * int(h) + int(m) for h, m in re.findall(r"^\| (\d+):(\d\d) \|", table, re.MULTILINE)]
        assert times == sorted(times)


def test_the_lessons_in_javascript_are_named() -> None:
    """As many as have a client in it."""
    numbers = [str(each.number) for each in read_course() if Language.JAVASCRIPT in each.languages]
    assert f"Lessons {', '.join(numbers[:-1])} and {numbers[-1]} are in JavaScript too" in TEXT
