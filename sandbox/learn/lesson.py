"""Lessons: a folder each, with a text, a broken client, hints, and the clauses that a repaired one passes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Final

import msgspec

from rdss_sandbox.installed_extensions import list_extensions
from sandbox.certify.clause import Group, Role
from sandbox.certify.clauses import clauses
from sandbox.certify.history import Level
from sandbox.certify.stages import QUIET, STREAM_STAGES, Stage, narrow, stages
from sandbox.learn.unified_diff import apply_diff

_OURS: Final = Path(__file__).with_name("lessons")
TEXT: Final = "lesson.md"
HEADINGS: Final = ("Look at", "Hint 1", "Hint 2", "Hint 3", "Why")
_FENCE: Final = "+++\n"
_FOLDER: Final = re.compile(r"(\d\d)-[a-z]+(?:-[a-z]+)*")
_Text = Annotated[str, msgspec.Meta(min_length=1)]
_Names = Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]


class LessonError(ValueError):
    """A wrong lesson, or one that is not there; the message says which and why."""


class Language(StrEnum):
    """A language that clients of lessons are written in; the value is what a user types."""

    PYTHON = "python"
    JAVASCRIPT = "javascript"

    @property
    def suffix(self) -> str:
        return ".py" if self is Language.PYTHON else ".js"


class Elsewhere(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where the same happened to others: a sentence, and the page that tells of it."""

    said: _Text
    url: Annotated[str, msgspec.Meta(pattern="^https://")]


class Front(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The TOML at the top of a lesson's text.

    A check plays ``stages`` after a quiet one, with messages and faults by ``seed``, and demands ``clauses``.
    The broken client fails ``fails`` of them, and ``reason`` stands in a finding of the first.
    """

    title: _Text
    role: Role
    seed: int
    clauses: _Names
    stages: _Names
    fails: _Names
    reason: _Text
    elsewhere: Annotated[tuple[Elsewhere, ...], msgspec.Meta(min_length=1)]


@dataclass(frozen=True, slots=True)
class Lesson:
    """A lesson of the course; ``name`` is its folder's. Texts are Markdown."""

    folder: Path
    front: Front
    text: str
    look_at: str
    hints: tuple[str, ...]
    why: str

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def number(self) -> int:
        return int(self.name[:2])

    @property
    def title(self) -> str:
        return self.front.title

    @property
    def languages(self) -> tuple[Language, ...]:
        return tuple(each for each in Language if self.client(each).exists())

    @property
    def planned(self) -> tuple[Stage, ...]:
        """The stages of a check, in order."""
        return (QUIET, *_find_stages(self.front))

    def client(self, language: Language) -> Path:
        """The broken client's file."""
        return self.folder / f"client{language.suffix}"

    def patch(self, language: Language) -> Path:
        """The file with the unified diff from the broken client to one that passes."""
        return self.folder / f"solution{language.suffix}.patch"

    def solve(self, language: Language) -> str:
        """Apply the patch, and return the client that passes. Raises ValueError where it does not fit."""
        patch = self.patch(language)
        try:
            return apply_diff(*(file.read_text(encoding="utf-8") for file in (patch, self.client(language))))
        except ValueError as error:
            raise ValueError(f"{patch.name}: {error}") from error


def list_folders() -> list[Path]:
    """The folders with the lessons of the course: the sandbox's own, and those of its extensions."""
    return [_OURS, *(Path(str(files(each.lessons))) for each in list_extensions() if each.lessons)]


@cache
def read_course(folder: Path | None = None) -> tuple[Lesson, ...]:
    """Read the lessons of a folder, in order; by default the course's. Raises ``LessonError``."""
    folders = list_folders() if folder is None else [folder]
    found = [each for place in folders for each in place.iterdir() if (each / TEXT).exists()]
    if not found:
        raise LessonError(f"{folder}: there is no folder with a {TEXT} here")
    found.sort(key=lambda each: each.name)
    return tuple(read_lesson(each) for each in found)


def find_lesson(course: tuple[Lesson, ...], name: str) -> Lesson:
    """Find a lesson by its number or its name. Raises ``LessonError``."""
    for each in course:
        if name in {each.name, each.name[3:]} or (name.isdecimal() and int(name) == each.number):
            return each
    numbers = ", ".join(str(each.number) for each in course)
    raise LessonError(f"there is no lesson {name!r}; there are {numbers}")


def read_lesson(folder: Path) -> Lesson:
    """Read a lesson and check it. Raises ``LessonError`` with the file and what is wrong in it."""
    file = folder / TEXT
    try:
        _require_inside(file)
        # What stands between the first two fences is TOML, and what comes after them the text.
        _, front, body = file.read_text(encoding="utf-8").split(_FENCE, 2)
        lesson = Lesson(folder, msgspec.toml.decode(front, type=Front), *_parts(body))
        _check_names(lesson.front)
        _check_files(lesson)
    except ValueError as error:
        raise LessonError(f"{file}: {error}") from error
    return lesson


def _parts(body: str) -> tuple[str, str, tuple[str, ...], str]:
    """Cut the body at its headings: the text, what to look at, the hints, why."""
    pieces = re.split(r"^## (.+)\n", body, flags=re.MULTILINE)
    if (headings := tuple(pieces[1::2])) != HEADINGS:
        raise ValueError(f"the headings are {headings}, and have to be {HEADINGS}")
    text, look_at, *hints, why = (each.strip() for each in pieces[::2])
    if not all((text, look_at, *hints, why)):
        raise ValueError("a part has no text")
    return text, look_at, tuple(hints), why


def _find_stages(front: Front) -> tuple[Stage, ...]:
    """The stages that a lesson names. Raises ValueError for one that is not there."""
    every = stages(STREAM_STAGES[front.role], Level.GOLD, frozenset(Group), clauses(front.role))
    return narrow(every, front.stages)


def _check_names(front: Front) -> None:
    known = {each.id for each in clauses(front.role)}
    if wrong := set(front.clauses) - known:
        raise ValueError(f"there is no clause {', '.join(sorted(wrong))} for a {front.role}")
    if wrong := set(front.fails) - set(front.clauses):
        raise ValueError(f"fails has {', '.join(sorted(wrong))}, which is not among the clauses")
    _find_stages(front)


def _check_files(lesson: Lesson) -> None:
    if not _FOLDER.fullmatch(lesson.name):
        raise ValueError("the folder's name is two digits and lower-case words, such as 11-my-lesson")
    for language in lesson.languages or (Language.PYTHON,):
        for file in (lesson.client(language), lesson.patch(language)):
            if not file.exists():
                raise ValueError(f"{file.name} is not there")
            _require_inside(file)
        lesson.solve(language)


def _require_inside(file: Path) -> None:
    """Refuse a file that a link leads out of its lesson's folder: somebody else may have written it."""
    if not file.resolve().is_relative_to(file.parent.resolve()):
        raise ValueError(f"{file.name} is a link out of the folder, to {file.resolve()}")
