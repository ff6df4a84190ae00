"""The course as the commands of ``sandbox learn`` use it: the lessons, and how far the learner is."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import click

from sandbox.cli.options.extras import require
from sandbox.cli.output.exit_codes import CommandFailedError, Exit
from sandbox.cli.output.printing import json_option

if TYPE_CHECKING:
    from sandbox.learn.course_progress import CourseProgress, LessonProgress
    from sandbox.learn.lesson import Lesson

T = TypeVar("T")

HERE: Final = Path()
"""The folder of the learner: where the command was called."""


@dataclass(frozen=True, slots=True)
class Course:
    """The lessons, and how far the learner is."""

    lessons: tuple[Lesson, ...]
    progress: CourseProgress

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
        from sandbox.learn.course_progress import write_progress
        from sandbox.learn.workplace import write_page

        write_progress(self.progress, HERE)
        write_page(self.lessons, self.progress, HERE)
        if control := os.environ.get("SANDBOX_CONTROL"):
            self._report(control)

    def _report(self, control: str) -> None:
        """Tell a trainer's hub, where the learner has a seat at one. Nothing else depends on it."""
        from rdss_sandbox.api.course_report import LearnerProgress
        from rdss_sandbox.client import Client, RefusedError, UnreachableError
        from rdss_sandbox.shapes.course_report import CourseReport

        lesson = self.pick(None)
        found = self.of(lesson)
        passed = sum(each.passed is not None for each in self.progress.lessons.values())
        report = CourseReport(
            lesson.title,
            lesson.number,
            found.checks,
            found.hints,
            found.passed is not None,
            passed,
            len(self.lessons),
        )
        with (
            Client(control, token=os.environ.get("SANDBOX_TOKEN")) as client,
            suppress(RefusedError, UnreachableError),
        ):
            LearnerProgress(client.transport).report(report)


def open_course(lessons: Path | None) -> Course:
    """Read the lessons of a folder, by default the course's, and how far the learner is."""
    require("messages")
    from sandbox.learn.course_progress import read_progress
    from sandbox.learn.lesson import read_course

    return Course(read_course(lessons), read_progress(HERE))


def of_started_lesson(command: Callable[..., T]) -> Callable[..., T]:
    """Add the argument N and ``--json`` to a command about the lesson N, or the current one.

    The command gets the ``course``, the ``lesson``, and as ``found`` how far the learner is in it.
    """

    @click.argument("wanted", metavar="[N]", required=False)
    @json_option
    @click.pass_obj
    @wraps(command)
    def run(lessons: Path | None, wanted: str | None, as_json: bool) -> T:
        course = open_course(lessons)
        lesson = course.pick(wanted)
        return command(course=course, lesson=lesson, found=course.of(lesson), as_json=as_json)

    return run
