from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sandbox.cli.output.exit_codes import CommandFailedError, Exit, sigterm_as_interrupt
from sandbox.cli.output.printing import json_option, print_json, print_line, print_rows, print_styled
from sandbox.cli.verdicts.learn_course import HERE, Course, of_started_lesson, open_course
from sandbox.cli.verdicts.learn_screen import check_on_screen, print_markdown, print_result

if TYPE_CHECKING:
    from sandbox.learn.course_progress import CourseProgress, LessonProgress
    from sandbox.learn.lesson import Language, Lesson

_LANGUAGES = ("python", "javascript")


@click.group()
@click.option(
    "--lessons",
    envvar="SANDBOX_LESSONS",
    show_envvar=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="Lessons of your own: a folder with a folder for each.",
)
@click.pass_context
def learn(context: click.Context, lessons: Path | None) -> None:
    """Learn to write a client: eleven lessons, each with a client that is broken on purpose."""
    context.obj = lessons


@learn.command("list")
@json_option
@click.pass_obj
def list_(lessons: Path | None, as_json: bool) -> None:
    """List the lessons, and how far you are."""
    course = open_course(lessons)
    rows = [_row(each, course.progress) for each in course.lessons]
    print_rows(
        rows,
        ("lesson", "title", "languages", "checks", "hints", "state"),
        [
            (each["lesson"], each["title"], ", ".join(each["languages"]), *list(each.values())[-3:])
            for each in rows
        ],
        as_json=as_json,
    )


def _row(lesson: Lesson, progress: CourseProgress) -> dict[str, Any]:
    found = progress.lessons.get(lesson.name)
    state = "-"
    if found is not None:
        state = "started" if found.passed is None else "passed"
        state += ", solution seen" if found.solution else ""
    return {
        "lesson": lesson.number,
        "name": lesson.name,
        "title": lesson.title,
        "languages": lesson.languages,
        "checks": found.checks if found else 0,
        "hints": found.hints if found else 0,
        "state": state,
    }


@learn.command()
@click.argument("wanted", metavar="[N]", required=False)
@click.option(
    "--language", type=click.Choice(_LANGUAGES), help="The language of your client.  [default: python]"
)
@json_option
@click.pass_obj
def start(lessons: Path | None, wanted: str | None, language: str | None, as_json: bool) -> None:
    """Start a lesson: its text, and its broken client in the folder learn.

    Without N it is the first lesson that you have not passed. A client that is there already stays as it is.
    """
    from emulator.pages.course import COURSE_PAGE
    from sandbox.learn.course_progress import LessonProgress
    from sandbox.learn.lesson import Language
    from sandbox.learn.workplace import client_file, place_client
    from sandbox.profiles import running

    course = open_course(lessons)
    progress = course.progress
    lesson = course.pick(wanted or course.find_first_unpassed())
    before = progress.lessons.get(lesson.name)
    found = before or LessonProgress()
    chosen = Language(language) if language else found.language
    if chosen not in lesson.languages:
        there = ", ".join(lesson.languages)
        raise CommandFailedError(
            f"lesson {lesson.number} has no client in {chosen}; it has {there}", Exit.USAGE
        )
    found.language = chosen
    progress.current, progress.lessons[lesson.name] = lesson.name, found
    placed = place_client(lesson, chosen, HERE)
    course.keep()
    file = client_file(lesson, chosen, HERE)
    if as_json:
        print_json(
            {"lesson": lesson.name, "client": str(file), "text": lesson.text, "look_at": lesson.look_at}
        )
        return
    print_markdown(f"# {lesson.number}. {lesson.title}\n\n{lesson.text}\n\n## Look at\n\n{lesson.look_at}")
    click.echo(f"\nyour client{', broken on purpose' if placed else ', as you left it'}: {file}")
    if chosen is Language.JAVASCRIPT:
        click.echo("its SDK, once: npm install --prefix learn")
    sandbox = running.find()
    served = f", or {sandbox.control}/learn" if sandbox else ""
    click.echo(f"the lesson in a browser: {COURSE_PAGE}{served}")
    click.echo("see what it does: sandbox learn check")


@learn.command()
@of_started_lesson
def check(course: Course, lesson: Lesson, found: LessonProgress, as_json: bool) -> int:
    """Check your client: run it through the lesson's faults, and judge it by clauses of the certificate.

    Exit code 0: it passes; 1: it fails a clause; 4: none fails, and one was not exercised.
    """
    from sandbox.learn.check import check_client
    from sandbox.learn.workplace import client_file, keep_check

    file = client_file(lesson, found.language, HERE)
    if not file.exists():
        raise CommandFailedError(
            f"{file} is not there; put the lesson's client back: sandbox learn reset {lesson.number}",
            Exit.USAGE,
        )
    require_runtime(found.language)
    with sigterm_as_interrupt():
        if as_json:
            result = check_client(lesson, file, found.language)
        else:
            result = check_on_screen(lesson, file, found.language)
    keep_check(result, HERE)
    found.checks += 1
    if result.passed and found.passed is None:
        found.passed = found.checks
    course.keep()
    if as_json:
        print_json(result)
    else:
        print_result(result, lesson, found, last=lesson is course.lessons[-1])
    if result.passed:
        return Exit.PASS
    return Exit.FAIL if result.failed else Exit.INCONCLUSIVE


@learn.command()
@of_started_lesson
def hint(course: Course, lesson: Lesson, found: LessonProgress, as_json: bool) -> None:
    """Show the next hint of three."""
    found.hints = min(found.hints + 1, len(lesson.hints))
    course.keep()
    shown = lesson.hints[: found.hints]
    if as_json:
        print_json({"lesson": lesson.name, "hints": shown, "left": len(lesson.hints) - len(shown)})
        return
    print_markdown("\n\n".join(f"## Hint {number}\n\n{each}" for number, each in enumerate(shown, 1)))
    if shown == lesson.hints:
        click.echo("\nthat was the last hint; a client that passes: sandbox learn solution")


@learn.command()
@of_started_lesson
def solution(course: Course, lesson: Lesson, found: LessonProgress, as_json: bool) -> None:
    """Show what a client that passes does differently, and write it beside yours."""
    from sandbox.learn.workplace import write_solution

    file = write_solution(lesson, found.language, HERE)
    found.solution = True
    course.keep()
    lines = lesson.patch(found.language).read_text(encoding="utf-8").splitlines()
    if as_json:
        print_json({"lesson": lesson.name, "file": str(file), "changes": lines})
        return
    for line in lines:
        print_styled(line, fg={"+": "green", "-": "red", "@": "cyan"}.get(line[:1]))
    click.echo(f"\nwhole: {file}; your own client is as you left it")


@learn.command()
@of_started_lesson
def reset(course: Course, lesson: Lesson, found: LessonProgress, as_json: bool) -> None:
    """Begin a lesson again: the broken client is put back, and yours is kept beside it."""
    from sandbox.learn.course_progress import LessonProgress
    from sandbox.learn.workplace import client_file, put_back_client

    kept = put_back_client(lesson, found.language, HERE)
    course.progress.lessons[lesson.name] = LessonProgress(found.language)
    course.keep()
    file = client_file(lesson, found.language, HERE)
    print_line(
        {"lesson": lesson.name, "client": str(file), "kept": str(kept) if kept else None},
        f"{file} is broken again{f'; yours is {kept}' if kept else ''}",
        as_json=as_json,
    )


@learn.command()
@click.argument("wanted", metavar="[N]", required=False)
@click.option("--language", type=click.Choice(_LANGUAGES), default="python", help="Its clients' language.")
@json_option
@click.pass_obj
def prove(lessons: Path | None, wanted: str | None, language: str, as_json: bool) -> int:
    """Prove a lesson that you wrote: its broken client fails as it says, and its solution passes.

    Without N every lesson that has a client in the language is proved.
    """
    from sandbox.learn.lesson import Language
    from sandbox.learn.proof import prove_lesson
    from sandbox.learn.workplace import place_package

    course = open_course(lessons)
    chosen = Language(language)
    every = [course.pick(wanted)] if wanted else [each for each in course.lessons if chosen in each.languages]
    found = {}
    for each in every:
        if chosen not in each.languages:
            raise CommandFailedError(f"lesson {each.number} has no client in {chosen}", Exit.USAGE)
        place_package(chosen, HERE)
        require_runtime(chosen)
        with sigterm_as_interrupt():
            found[each.name] = prove_lesson(each, chosen, HERE)
        if not as_json:
            for line in found[each.name] or ["its broken client fails as it says, and its solution passes"]:
                click.echo(f"{each.name}: {line}")
    if as_json:
        print_json(found)
    return Exit.FAIL if any(found.values()) else Exit.PASS


def require_runtime(language: Language) -> None:
    """Raise where what runs a client of this language is missing."""
    from shutil import which

    from sandbox.learn.lesson import Language
    from sandbox.learn.workplace import SDK, has_sdk

    if language is not Language.JAVASCRIPT:
        return
    if which("node") is None:
        raise CommandFailedError(
            "node is not on the PATH; install Node.js to run clients in JavaScript", Exit.ENVIRONMENT
        )
    if not has_sdk(HERE):
        raise CommandFailedError(
            f"{SDK} is not installed for the client; install it: npm install --prefix learn", Exit.ENVIRONMENT
        )
