"""Every lesson of the course is whole: its text, hints, clients, clauses and stages."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox.certify.clauses import clauses
from sandbox.learn.lesson import (
    TEXT,
    Language,
    Lesson,
    LessonError,
    find_lesson,
    list_folders,
    read_course,
    read_lesson,
)
from tests.taken_out import needs

LESSONS = read_course()
each_lesson = pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)


@needs("queues", "functions")
def test_the_lessons_are_numbered_without_a_gap() -> None:
    """Lesson 4 is the fourth folder, and no folder is left out of the course."""
    assert [each.number for each in LESSONS] == list(range(1, len(LESSONS) + 1))
    found = [each.parent.name for folder in list_folders() for each in folder.glob(f"*/{TEXT}")]
    assert [each.name for each in LESSONS] == sorted(found)


@each_lesson
def test_a_lesson_has_a_python_client_that_says_that_it_is_broken(lesson: Lesson) -> None:
    """At once: in the first line of its file and the first that it prints. The solution does not."""
    assert Language.PYTHON in lesson.languages
    for language in lesson.languages:
        broken = lesson.client(language).read_text(encoding="utf-8")
        assert "broken on purpose" in broken.splitlines()[0]
        assert f"this client is broken on purpose: lesson {lesson.number}" in broken
        assert "broken on purpose" not in lesson.solve(language)
    statements = ast.parse(lesson.client(Language.PYTHON).read_text(encoding="utf-8")).body[1:]
    first = next(each for each in statements if not isinstance(each, ast.Import | ast.ImportFrom))
    assert "broken on purpose" in ast.unparse(first)


@each_lesson
def test_a_solution_is_code_that_our_linter_would_take(lesson: Lesson) -> None:
    """As if it lay beside the broken client, though it is only there once its patch is applied."""
    beside = lesson.client(Language.PYTHON).with_stem("solution")
    for words in (["check"], ["format", "--check"]):
        command = [sys.executable, "-m", "ruff", *words, "--stdin-filename", str(beside), "-"]
        ran = subprocess.run(
            command, input=lesson.solve(Language.PYTHON), capture_output=True, text=True, check=False
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr


@each_lesson
def test_a_hint_does_not_repeat_the_one_before(lesson: Lesson) -> None:
    """Three hints, one at a time, each of which says something else, and none the whole answer."""
    assert len(set(lesson.hints)) == 3
    assert all(len(each.split()) >= 10 for each in (*lesson.hints, lesson.why))


@each_lesson
def test_the_stages_of_a_lesson_can_exercise_its_clauses(lesson: Lesson) -> None:
    """A text of a few lines, and a check with something in it besides the quiet day."""
    assert len(lesson.planned) >= 2
    assert set(lesson.front.fails) <= {each.id for each in clauses(lesson.front.role)}
    assert lesson.text.count("\n") < 20


def test_a_lesson_is_found_by_number_and_by_name() -> None:
    """As people type it."""
    first = LESSONS[0]
    assert {find_lesson(LESSONS, each) for each in ("1", "01", first.name, first.name[3:])} == {first}
    with pytest.raises(LessonError, match="no lesson '77'"):
        find_lesson(LESSONS, "77")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('clauses = ["nothing-lost"]', 'clauses = ["nothing-gained"]', "nothing-gained"),
        ('fails = ["nothing-lost"]', 'fails = ["nothing-twice"]', "not among the clauses"),
        ('stages = ["restart"]', 'stages = ["earthquake"]', "earthquake"),
        ('role = "consumer"', 'role = "bystander"', "bystander"),
        ('title = "', 'colour = "red"\ntitle = "', "colour"),
        ("seed = 1", 'seed = "one"', "seed"),
        ("## Hint 3", "## Hint 4", "headings"),
        ("+++\n", "", "unpack"),
        ("https://", "http://", "url"),
    ],
)
def test_a_wrong_lesson_is_refused_with_its_file_and_the_reason(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    """So that who writes one of their own sees what is wrong with it."""
    folder = tmp_path / LESSONS[0].name
    shutil.copytree(LESSONS[0].folder, folder)
    file = folder / "lesson.md"
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), encoding="utf-8")

    with pytest.raises(LessonError) as refused:
        read_lesson(folder)

    assert str(file) in str(refused.value)
    assert said in str(refused.value)


@pytest.mark.parametrize("name", ["lesson.md", "client.py", "solution.py.patch"])
def test_a_link_out_of_a_lesson_is_refused(tmp_path: Path, name: str) -> None:
    """Nothing of this machine is shown or copied because somebody else's lessons name it."""
    folder = tmp_path / LESSONS[0].name
    shutil.copytree(LESSONS[0].folder, folder)
    (folder / name).rename(tmp_path / "outside")
    (folder / name).symlink_to(tmp_path / "outside")
    with pytest.raises(LessonError, match=f"{name} is a link out of the folder, to .*outside"):
        read_course(tmp_path)


def test_a_lesson_without_a_solution_is_refused(tmp_path: Path) -> None:
    """Nobody could prove it."""
    folder = tmp_path / LESSONS[0].name
    shutil.copytree(LESSONS[0].folder, folder)
    (folder / "solution.py.patch").unlink()

    with pytest.raises(LessonError, match=r"solution\.py\.patch is not there"):
        read_lesson(folder)


def test_a_lesson_whose_client_changed_and_its_solution_did_not_is_refused(tmp_path: Path) -> None:
    """With the line of the patch that does not fit any more."""
    folder = tmp_path / LESSONS[0].name
    shutil.copytree(LESSONS[0].folder, folder)
    client = folder / "client.py"
    client.write_text(f"# mine\n{client.read_text(encoding='utf-8')}", encoding="utf-8")

    with pytest.raises(LessonError, match=r"solution\.py\.patch: line \d+ does not fit"):
        read_lesson(folder)


def test_a_folder_without_lessons_is_refused(tmp_path: Path) -> None:
    """It is named."""
    with pytest.raises(LessonError, match=str(tmp_path)):
        read_course(tmp_path)
