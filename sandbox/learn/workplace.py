"""The learner's files: a folder for each lesson, under ``learn`` in the working directory."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from emulator.pages.course import COURSE_PAGE
from rdss_sandbox.files.rewriting import rewriting
from sandbox.learn.check import CheckResult
from sandbox.learn.course_page import course_page
from sandbox.learn.course_progress import CourseProgress
from sandbox.learn.lesson import Language, Lesson

FOLDER: Final = COURSE_PAGE.parent.name
_LAST_CHECK: Final = "check.json"
SDK: Final = "@aws-sdk/client-kinesis"
_PACKAGE: Final = {"private": True, "type": "module", "dependencies": {SDK: "^3.0.0"}}


def client_file(lesson: Lesson, language: Language, directory: Path) -> Path:
    """Where the learner's client lies."""
    return directory / FOLDER / lesson.name / lesson.client(language).name


def place_client(lesson: Lesson, language: Language, directory: Path) -> bool:
    """Copy the broken client to the learner; return False where there is one, which stays. Raises OSError."""
    file = client_file(lesson, language, directory)
    if file.exists():
        return False
    file.parent.mkdir(parents=True, exist_ok=True)
    place_package(language, directory)
    shutil.copyfile(lesson.client(language), file)
    return True


def place_package(language: Language, directory: Path) -> None:
    """Write the file by which npm installs the SDK, where there is none. Raises OSError."""
    package = directory / FOLDER / "package.json"
    if language is Language.JAVASCRIPT and not package.exists():
        package.parent.mkdir(parents=True, exist_ok=True)
        package.write_bytes(msgspec.json.format(msgspec.json.encode(_PACKAGE), indent=2) + b"\n")


def put_back_client(lesson: Lesson, language: Language, directory: Path) -> Path | None:
    """Put the broken client back; return where the learner's is kept, None where there was none."""
    file = client_file(lesson, language, directory)
    kept = None
    if file.exists():
        kept = _free_name(file)
        file.replace(kept)
    place_client(lesson, language, directory)
    return kept


def keep_check(result: CheckResult, directory: Path) -> None:
    """Write the last check of a lesson beside the learner's client. Raises OSError."""
    with rewriting(directory / FOLDER / result.lesson / _LAST_CHECK, fsync=False) as draft:
        draft.write_bytes(msgspec.json.encode(result))


def read_checks(lessons: Sequence[Lesson], directory: Path) -> dict[str, CheckResult]:
    """Read the last check of each lesson that has a readable one, by the lesson's name."""
    found = {}
    for each in lessons:
        with suppress(OSError, msgspec.MsgspecError):
            kept = (directory / FOLDER / each.name / _LAST_CHECK).read_bytes()
            found[each.name] = msgspec.json.decode(kept, type=CheckResult)
    return found


def write_page(lessons: Sequence[Lesson], progress: CourseProgress, directory: Path) -> None:
    """Write the course's page for a browser. Raises OSError."""
    page = directory / COURSE_PAGE
    page.parent.mkdir(parents=True, exist_ok=True)
    with rewriting(page, fsync=False) as draft:
        text = course_page(lessons, progress, read_checks(lessons, directory))
        draft.write_text(text, encoding="utf-8")


def write_solution(lesson: Lesson, language: Language, directory: Path) -> Path:
    """Write the solution beside the learner's client, and return its file."""
    file = client_file(lesson, language, directory).with_stem("solution")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(lesson.solve(language), encoding="utf-8")
    return file


def has_sdk(directory: Path) -> bool:
    """Whether Node.js finds the AWS SDK from where the learner's clients lie."""
    folder = (directory / FOLDER).resolve()
    return any((each / "node_modules" / SDK).exists() for each in (folder, *folder.parents))


def _free_name(file: Path) -> Path:
    number = 1
    while (kept := file.with_name(f"{file.stem}.{number}{file.suffix}")).exists():
        number += 1
    return kept
