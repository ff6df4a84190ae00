"""The course's page shows what a learner has seen in the terminal, and nothing that was not earned."""

from __future__ import annotations

import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest

from rdss_sandbox.shapes.certificate import ClauseResult, ClauseVerdict, Finding
from sandbox.certify.history import Level
from sandbox.learn.check import CheckResult
from sandbox.learn.course_page import course_page
from sandbox.learn.course_progress import CourseProgress, LessonProgress
from sandbox.learn.lesson import Language, read_course, read_lesson
from sandbox.learn.stage_counts import StageCount
from sandbox.learn.workplace import keep_check, read_checks
from tests.chromium import chromium

LESSONS = read_course()
FIRST, SECOND = LESSONS[:2]


def check(*, said: str = "m-1 was never read") -> CheckResult:
    clause = ClauseResult(
        "nothing-lost", "delivery", ClauseVerdict.FAIL, 12, 10, None, "Every message.", "RDSS",
        (Finding(said, Level.BRONZE),), "sandbox certify consumer",
    )  # fmt: skip
    counts = (StageCount("restart", 12, 4, 8, 0, 0, 0, {"restarted": 1}),)
    return CheckResult(FIRST.name, Language.PYTHON, False, counts, (clause,), (), 8.0)


def page(found: LessonProgress, *checks: CheckResult) -> str:
    progress = CourseProgress(FIRST.name, {FIRST.name: found})
    return course_page(LESSONS, progress, {each.lesson: each for each in checks})


class Outline(HTMLParser):
    """What assistive technology goes by: headings in order, ids, and where links lead."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.headings: list[int] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if given.get("id"):
            self.ids.append(str(given["id"]))
        if given.get("href"):
            self.links.append(str(given["href"]))


def test_a_started_lesson_shows_its_text_and_its_last_check() -> None:
    """With the loss in numbers; the other lessons are named, and how one starts them."""
    shown = page(LessonProgress(checks=1), check())

    assert "A stream does not know who reads it" in shown
    assert re.search(r'restart<td class=n>12<td class=n>4<td class="n fail">8', shown)
    assert "m-1 was never read" in shown
    assert f"sandbox learn start {SECOND.number}" in shown
    assert SECOND.text.splitlines()[0] not in shown


def test_what_a_passed_check_allows_does_not_stand_out() -> None:
    """Two of 12 came twice after a kill, as they may: nothing of it is red."""
    found = check()
    stage = msgspec.structs.replace(found.stages[0], processed=14, lost=0, twice=2)
    passed = msgspec.structs.replace(found, passed=True, stages=(stage,), clauses=())

    shown = page(LessonProgress(checks=1, passed=1), passed)

    assert "<td class=n>14<td class=n>0<td class=n>2" in shown
    assert 'class="n fail"' not in shown


def test_hints_and_reasons_are_shown_when_they_were_earned() -> None:
    """A page that told them at once would end the lesson."""
    before, after = page(LessonProgress(hints=1)), page(LessonProgress(hints=1, checks=3, passed=3))

    assert "Hint 1" in before
    assert "Hint 2" not in before
    assert "Why" not in before
    assert FIRST.front.elsewhere[0].url not in before
    assert FIRST.front.elsewhere[0].url in after
    assert "passed at check 3" in after


def test_the_page_can_be_gone_through_by_its_headings_and_links() -> None:
    """One first heading, no level left out, each id once, and no link into the page leads nowhere."""
    outline = Outline(page(LessonProgress(hints=3, checks=1, passed=1), check()))

    assert outline.headings.count(1) == 1
    assert all(
        after - before <= 1 for before, after in zip(outline.headings, outline.headings[1:], strict=False)
    )
    assert len(outline.ids) == len(set(outline.ids))
    assert {each[1:] for each in outline.links if each.startswith("#")} <= set(outline.ids)


def test_what_others_wrote_is_text(tmp_path: Path) -> None:
    """A lesson of somebody's own, and what a client made the check say, put no element into the page."""
    folder = tmp_path / FIRST.name
    shutil.copytree(FIRST.folder, folder)
    file = folder / "lesson.md"
    text = file.read_text(encoding="utf-8").replace(
        "A stream does not", "<script>alert(1)</script> A stream does not"
    )
    file.write_text(text, encoding="utf-8")
    progress = CourseProgress(FIRST.name, {FIRST.name: LessonProgress()})

    shown = course_page([read_lesson(folder)], progress, {FIRST.name: check(said="<img src=x>")})

    assert "<script>alert" not in shown
    assert "<img" not in shown
    assert "&lt;script&gt;" in shown


def test_the_last_check_is_kept_beside_the_client(tmp_path: Path) -> None:
    """Whole; one that cannot be read is no check."""
    place = tmp_path / "learn" / FIRST.name
    place.mkdir(parents=True)

    keep_check(check(), tmp_path)
    assert read_checks(LESSONS, tmp_path) == {FIRST.name: check()}

    (place / "check.json").write_text("{", encoding="utf-8")
    assert read_checks(LESSONS, tmp_path) == {}


@pytest.mark.browser
def test_the_page_fits_its_window(tmp_path: Path) -> None:
    """On a phone and on a screen nothing has to be shifted sideways but a wide table."""
    file = tmp_path / "index.html"
    passed = {each.name: LessonProgress(hints=3, checks=1, passed=1) for each in LESSONS}
    file.write_text(course_page(LESSONS, CourseProgress(FIRST.name, passed), {FIRST.name: check()}))
    with chromium(tmp_path / "profile") as tab:
        tab.open(file.as_uri())
        for width in (500, 1280):
            tab.size(width, 900)
            assert tab.eval("document.documentElement.scrollWidth <= innerWidth"), width
        assert tab.problems == []
