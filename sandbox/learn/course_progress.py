"""How far a learner is: kept in one file, beside what else the sandbox keeps in a directory."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from emulator.machine import private_files
from emulator.settings.settings import STATE_DIRECTORY
from rdss_sandbox.files.rewriting import rewriting
from sandbox.learn.lesson import Language

FILE: Final = Path(STATE_DIRECTORY, "learn.json")


class ProgressError(ValueError):
    """The file of the progress cannot be read; the message names it."""


class LessonProgress(msgspec.Struct):
    """How far one lesson is. ``passed`` is the number of the check that passed first, None before that.

    ``hints`` are those that were shown, ``solution`` says whether the solution was.
    """

    language: Language = Language.PYTHON
    checks: int = 0
    hints: int = 0
    solution: bool = False
    passed: int | None = None


class CourseProgress(msgspec.Struct):
    """How far the course is, by the names of its lessons; ``current`` is the one started last."""

    current: str | None = None
    lessons: dict[str, LessonProgress] = {}


def read_progress(directory: Path) -> CourseProgress:
    """Read the progress in a directory; a new one where there is none. Raises ``ProgressError``."""
    file = directory / FILE
    try:
        return msgspec.json.decode(file.read_bytes(), type=CourseProgress)
    except FileNotFoundError:
        return CourseProgress()
    except msgspec.MsgspecError as error:
        raise ProgressError(f"{file} is damaged ({error}); remove it to begin the course again") from error


def write_progress(progress: CourseProgress, directory: Path) -> None:
    """Write the progress. Raises OSError."""
    file = directory / FILE
    private_files.make_directory(file.parent)
    with rewriting(file, fsync=False) as draft:
        draft.write_bytes(msgspec.json.format(msgspec.json.encode(progress), indent=2) + b"\n")
