"""Every lesson as a learner meets it: the broken client fails as the lesson says, and the solution passes."""

from __future__ import annotations

import shutil
from difflib import unified_diff
from pathlib import Path
from typing import NamedTuple

import pytest

from sandbox.learn.check import check_client
from sandbox.learn.lesson import Language, Lesson, find_lesson, read_course, read_lesson
from sandbox.learn.proof import prove_lesson

LESSONS = read_course()


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "lesson",
    [
        pytest.param(
            each, id=each.name, marks=[pytest.mark.long] if each.name == "10-claims-and-poison" else ()
        )
        for each in LESSONS
    ],
)
def test_the_broken_client_fails_as_the_lesson_says_and_the_solution_passes(
    lesson: Lesson, tmp_path: Path
) -> None:
    """Fails exactly the clauses that it names, for its reason, after a quiet stage that shows nothing."""
    assert prove_lesson(lesson, Language.PYTHON, tmp_path) == []


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_lesson_whose_clients_are_swapped_is_not_proved(tmp_path: Path) -> None:
    """The proof can fail, on both sides."""
    folder = tmp_path / LESSONS[0].name
    shutil.copytree(LESSONS[0].folder, folder)
    lesson = read_lesson(folder)
    client, broken, solved = (
        lesson.client(Language.PYTHON),
        lesson.client(Language.PYTHON).read_text(encoding="utf-8"),
        lesson.solve(Language.PYTHON),
    )
    client.write_text(solved, encoding="utf-8")
    back = unified_diff(solved.splitlines(), broken.splitlines(), lineterm="")
    lesson.patch(Language.PYTHON).write_text("\n".join(back), encoding="utf-8")

    problems = prove_lesson(lesson, Language.PYTHON, tmp_path)

    assert any("the broken client fails nothing" in each for each in problems)
    assert any("the solution: nothing-lost fail" in each for each in problems)


class HalfRepair(NamedTuple):
    """A solution with half of the repair taken out: its lesson, the clause that fails, and what is said."""

    lesson: str
    old: str
    new: str
    clause: str
    said: str


HALF_REPAIRS = (
    HalfRepair(
        "duplicates",
        "DONE.read_text().split()) if DONE.exists() else set()",
        "DONE.read_text().split()) if False else set()",
        "nothing-twice",
        "was reported 2 times",
    ),
    HalfRepair(
        "split",
        'shard["ShardId"] not in ended and parents <= ended:',
        'shard["ShardId"] not in ended:',
        "parents-before-children",
        "still had unread records",
    ),
)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("half", HALF_REPAIRS, ids=lambda half: half.lesson)
def test_half_a_repair_fails_the_clause_about_the_other_half(half: HalfRepair, tmp_path: Path) -> None:
    """A memory that a restart empties, and children that are read before their parents, as the hints say."""
    lesson = find_lesson(LESSONS, half.lesson)
    text = lesson.solve(Language.PYTHON)
    assert text.count(half.old) == 1
    client = tmp_path / "client.py"
    client.write_text(text.replace(half.old, half.new), encoding="utf-8")

    found = check_client(lesson, client, Language.PYTHON)

    assert found.failed == (half.clause,)
    assert any(half.said in each.said for result in found.clauses for each in result.evidence)
