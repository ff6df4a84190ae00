"""The course as the commands of ``sandbox learn`` use it: the lessons, and how far the learner is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sandbox.cli.options.extras import require
from sandbox.cli.output.exit_codes import CommandFailedError, Exit

if TYPE_CHECKING:
    from sandbox.learn.lesson import Lesson
    from sandbox.learn.progress import LessonProgress, Progress

HERE: Final = Path()
"""The folder of the learner: where the command was called."""


@dataclass(frozen=True, slots=True)
class Course:
    """The lessons, and how far the learner is."""

    lessons: tuple[Lesson, ...]
    progress: Progress

    def pick(self, wanted: str | None) -> Lesson:
        """The lesson that is wanted; without a wish the current one."""
        from sandbox.learn.lesson import LessonError, find_lesson

        name = wanted or self.progress.current
        if name is None:
            raise CommandFailedError(
                "no lesson was started here; start one: sandbox learn start 1", Exit.USAGE
            )
        try:
            return find_lesson(self.lessons, name)
        except LessonError as error:
            raise CommandFailedError(f"{error}; `sandbox learn list` has them", Exit.USAGE) from error

    def find_first_unpassed(self) -> str:
        """The first lesson that was not passed; the last one when all were."""
        for each in self.lessons:
            found = self.progress.lessons.get(each.name)
            if found is None or found.passed is None:
                return each.name
        return self.lessons[-1].name

    def of(self, lesson: Lesson) -> LessonProgress:
        """How far a lesson that was started is."""
        found = self.progress.lessons.get(lesson.name)
        if found is None:
            raise CommandFailedError(
                f"lesson {lesson.number} was not started here; start it: sandbox learn start {lesson.number}",
                Exit.USAGE,
            )
        return found

    def keep(self) -> None:
        """Write how far the learner is, and the page that shows it."""
        from sandbox.learn.progress import write_progress
        from sandbox.learn.workplace import write_page

        write_progress(self.progress, HERE)
        write_page(self.lessons, self.progress, HERE)


def open_course(lessons: Path | None) -> Course:
    """Read the lessons of a folder, by default the course's, and how far the learner is."""
    require("messages")
    from sandbox.learn.lesson import read_course
    from sandbox.learn.progress import read_progress

    return Course(read_course(lessons), read_progress(HERE))
