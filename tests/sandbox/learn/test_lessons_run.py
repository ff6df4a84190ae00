"""Every lesson as a learner meets it: the broken client fails as the lesson says, and the solution passes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from sandbox.learn.lesson import Language, Lesson, read_course, read_lesson
from sandbox.learn.proof import prove_lesson

LESSONS = read_course()


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_the_broken_client_fails_as_the_lesson_says_and_the_solution_passes(lesson: Lesson) -> None:
    """Fails exactly the clauses that it names, for its reason, after a quiet stage that shows nothing."""
    assert prove_lesson(lesson, Language.PYTHON) == []


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_lesson_whose_clients_are_swapped_is_not_proved(tmp_path: Path) -> None:
    """The proof can fail, on both sides."""
    folder = tmp_path / LESSONS[0].name
    shutil.copytree(LESSONS[0].folder, folder)
    (folder / "client.py").rename(folder / "kept.py")
    (folder / "solution.py").rename(folder / "client.py")
    (folder / "kept.py").rename(folder / "solution.py")

    problems = prove_lesson(read_lesson(folder), Language.PYTHON)

    assert any("the broken client fails nothing" in each for each in problems)
    assert any("the solution: nothing-lost fail" in each for each in problems)
