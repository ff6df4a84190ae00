"""``sandbox learn``."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from sandbox.cli.exit_codes import CommandFailedError, Exit
from sandbox.cli.printing import json_option, print_json, print_table

if TYPE_CHECKING:
    from rich.console import Console

    from sandbox.certify.certificate import ClauseResult
    from sandbox.learn.check import CheckResult
    from sandbox.learn.lesson import Language, Lesson
    from sandbox.learn.progress import LessonProgress, Progress
    from sandbox.learn.stage_counts import StageCount

F = TypeVar("F", bound=Callable[..., Any])

_HERE = Path()
_LANGUAGES = ("python", "javascript")
_MOST_SHOWN = 3
_COLOURS = {"pass": "green", "fail": "bold red", "not exercised": "yellow"}
_HINTS = 3
_PIPE_WIDTH = 100


@dataclass(frozen=True, slots=True)
class _Course:
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

        write_progress(self.progress, _HERE)
        write_page(self.lessons, self.progress, _HERE)


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
    """Learn to write a client: ten lessons, each with one that is broken on purpose."""
    context.obj = lessons


def _course(lessons: Path | None) -> _Course:
    from sandbox.learn.lesson import COURSE, LessonError, read_course
    from sandbox.learn.progress import ProgressError, read_progress

    try:
        return _Course(read_course(lessons or COURSE), read_progress(_HERE))
    except LessonError as error:
        raise CommandFailedError(str(error), Exit.USAGE) from error
    except ProgressError as error:
        raise CommandFailedError(str(error), Exit.ENVIRONMENT) from error


@learn.command("list")
@json_option
@click.pass_obj
def list_(lessons: Path | None, as_json: bool) -> None:
    """List the lessons, and how far you are."""
    course = _course(lessons)
    rows = [_row(each, course.progress) for each in course.lessons]
    if as_json:
        print_json(rows)
        return
    print_table(
        ("lesson", "title", "languages", "checks", "hints", "state"),
        [
            (each["lesson"], each["title"], ", ".join(each["languages"]), *list(each.values())[-3:])
            for each in rows
        ],
    )


def _row(lesson: Lesson, progress: Progress) -> dict[str, Any]:
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
    from sandbox.learn.lesson import Language
    from sandbox.learn.progress import LessonProgress
    from sandbox.learn.workplace import PAGE, client_file, place_client

    course = _course(lessons)
    progress = course.progress
    lesson = course.pick(wanted or _first_unpassed(course))
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
    placed = place_client(lesson, chosen, _HERE)
    course.keep()
    file = client_file(lesson, chosen, _HERE)
    if as_json:
        print_json(
            {"lesson": lesson.name, "client": str(file), "text": lesson.text, "look_at": lesson.look_at}
        )
        return
    _print_markdown(f"# {lesson.number}. {lesson.title}\n\n{lesson.text}\n\n## Look at\n\n{lesson.look_at}")
    click.echo(f"\nyour client{', broken on purpose' if placed else ', as you left it'}: {file}")
    if chosen is Language.JAVASCRIPT:
        click.echo("its SDK, once: npm install --prefix learn")
    click.echo(f"the lesson in a browser: {PAGE}")
    click.echo("see what it does: sandbox learn check")


def _first_unpassed(course: _Course) -> str:
    for each in course.lessons:
        found = course.progress.lessons.get(each.name)
        if found is None or found.passed is None:
            return each.name
    return course.lessons[-1].name


@learn.command()
@click.argument("wanted", metavar="[N]", required=False)
@json_option
@click.pass_obj
def check(lessons: Path | None, wanted: str | None, as_json: bool) -> int:
    """Check your client: run it through the lesson's faults, and judge it by clauses of the certificate.

    Exit code 0: it passes; 1: it fails a clause; 4: none fails, and one was not exercised.
    """
    from sandbox.learn.check import check_client
    from sandbox.learn.workplace import client_file, keep_check

    course = _course(lessons)
    lesson = course.pick(wanted)
    found = course.of(lesson)
    file = client_file(lesson, found.language, _HERE)
    if not file.exists():
        raise CommandFailedError(
            f"{file} is not there; put the lesson's client back: sandbox learn reset {lesson.number}",
            Exit.USAGE,
        )
    _require_runtime(found.language)
    with _ended_by_signals():
        if as_json:
            result = check_client(lesson, file, found.language)
        else:
            result = _check_on_screen(lesson, file, found.language)
    keep_check(result, _HERE)
    found.checks += 1
    if result.passed and found.passed is None:
        found.passed = found.checks
    course.keep()
    if as_json:
        print_json(result)
    else:
        _print_result(result, lesson, found, last=lesson is course.lessons[-1])
    if result.passed:
        return Exit.PASS
    return Exit.FAIL if result.failed else Exit.INCONCLUSIVE


@learn.command()
@click.argument("wanted", metavar="[N]", required=False)
@json_option
@click.pass_obj
def hint(lessons: Path | None, wanted: str | None, as_json: bool) -> None:
    """Show the next hint of three."""
    course = _course(lessons)
    lesson = course.pick(wanted)
    found = course.of(lesson)
    found.hints = min(found.hints + 1, _HINTS)
    course.keep()
    shown = lesson.hints[: found.hints]
    if as_json:
        print_json({"lesson": lesson.name, "hints": shown, "left": _HINTS - len(shown)})
        return
    _print_markdown("\n\n".join(f"## Hint {number}\n\n{each}" for number, each in enumerate(shown, 1)))
    if len(shown) == _HINTS:
        click.echo("\nthat was the last hint; a client that passes: sandbox learn solution")


@learn.command()
@click.argument("wanted", metavar="[N]", required=False)
@json_option
@click.pass_obj
def solution(lessons: Path | None, wanted: str | None, as_json: bool) -> None:
    """Show what a client that passes does differently, and write it beside yours."""
    from sandbox.learn.workplace import changes, write_solution

    course = _course(lessons)
    lesson = course.pick(wanted)
    found = course.of(lesson)
    file = write_solution(lesson, found.language, _HERE)
    found.solution = True
    course.keep()
    lines = changes(lesson, found.language)
    if as_json:
        print_json({"lesson": lesson.name, "file": str(file), "changes": lines})
        return
    for line in lines:
        click.secho(line, fg={"+": "green", "-": "red", "@": "cyan"}.get(line[:1]))
    click.echo(f"\nwhole: {file}; your own client is as you left it")


@learn.command()
@click.argument("wanted", metavar="[N]", required=False)
@json_option
@click.pass_obj
def reset(lessons: Path | None, wanted: str | None, as_json: bool) -> None:
    """Begin a lesson again: the broken client is put back, and yours is kept beside it."""
    from sandbox.learn.progress import LessonProgress
    from sandbox.learn.workplace import client_file, put_back_client

    course = _course(lessons)
    lesson = course.pick(wanted)
    found = course.of(lesson)
    kept = put_back_client(lesson, found.language, _HERE)
    course.progress.lessons[lesson.name] = LessonProgress(found.language)
    course.keep()
    file = client_file(lesson, found.language, _HERE)
    if as_json:
        print_json({"lesson": lesson.name, "client": str(file), "kept": str(kept) if kept else None})
        return
    click.echo(f"{file} is broken again{f'; yours is {kept}' if kept else ''}")


@learn.command()
@click.argument("wanted", metavar="[N]", required=False)
@click.option("--language", type=click.Choice(_LANGUAGES), default="python", show_default=True)
@json_option
@click.pass_obj
def prove(lessons: Path | None, wanted: str | None, language: str, as_json: bool) -> int:
    """Prove a lesson that you wrote: its broken client fails as it says, and its solution passes.

    Without N every lesson that has a client in the language is proved.
    """
    from sandbox.learn.lesson import Language
    from sandbox.learn.proof import prove_lesson
    from sandbox.learn.workplace import place_package

    course = _course(lessons)
    chosen = Language(language)
    every = [course.pick(wanted)] if wanted else [each for each in course.lessons if chosen in each.languages]
    found = {}
    for each in every:
        if chosen not in each.languages:
            raise CommandFailedError(f"lesson {each.number} has no client in {chosen}", Exit.USAGE)
        place_package(chosen, _HERE)
        _require_runtime(chosen)
        with _ended_by_signals():
            found[each.name] = prove_lesson(each, chosen, _HERE)
        if not as_json:
            for line in found[each.name] or ["its broken client fails as it says, and its solution passes"]:
                click.echo(f"{each.name}: {line}")
    if as_json:
        print_json(found)
    return Exit.FAIL if any(found.values()) else Exit.PASS


def _require_runtime(language: Language) -> None:
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
    if not has_sdk(_HERE):
        raise CommandFailedError(
            f"{SDK} is not installed for the client; install it: npm install --prefix learn", Exit.ENVIRONMENT
        )


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """End a check by SIGTERM as by Ctrl-C, and say what cannot be started: no client stays behind."""
    from sandbox.certify.client_process import ClientNotStartedError

    usual = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    except ClientNotStartedError as error:
        raise CommandFailedError(str(error), Exit.ENVIRONMENT) from error
    finally:
        signal.signal(signal.SIGTERM, usual)


# The screen


def _check_on_screen(lesson: Lesson, file: Path, language: Language) -> CheckResult:
    """Check a client, and show the counts as they grow."""
    from rich.live import Live

    from sandbox.learn.check import check_client

    console = _console()
    about = f"{file} in lesson {lesson.number}, {lesson.title}; seed {lesson.front.seed}"
    console.print(about, markup=False)
    counted: list[Callable[[], tuple[StageCount, ...]]] = []

    def draw() -> Any:
        return _table(counted[0]() if counted else (), lesson)

    with Live(get_renderable=draw, console=console, transient=True):
        return check_client(lesson, file, language, counted.append)


def _table(counts: tuple[StageCount, ...], lesson: Lesson) -> Any:
    from rich.table import Table

    consumer = lesson.front.role == "consumer"
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("stage")
    for title in ("sent" if consumer else "in the file", "processed" if consumer else "in the stream"):
        table.add_column(title, justify="right")
    table.add_column("lost", justify="right")
    table.add_column("twice", justify="right")
    bad = any(each.bad for each in counts)
    if bad:
        table.add_column("bad, rejected", justify="right")
    table.add_column("what happened")
    for each in counts:
        lost = "..." if each.lost is None else str(each.lost)
        table.add_row(
            each.stage,
            str(each.sent),
            str(each.processed),
            f"[bold red]{lost}[/]" if each.lost else lost,
            f"[bold red]{each.twice}[/]" if each.twice else "0",
            *([f"{each.rejected} of {each.bad}"] if bad else []),
            ", ".join(f"{what} {times}x" for what, times in each.happened.items()) or "-",
        )
    return table


def _print_result(result: CheckResult, lesson: Lesson, progress: LessonProgress, *, last: bool) -> None:
    console = _console()
    console.print(_table(result.stages, lesson))
    console.print()
    for each in result.clauses:
        _print_clause(console.print, each)
    for line in result.output[-_MOST_SHOWN:]:
        console.print(f"    its last words: {line}", markup=False)
    if not result.passed:
        left = _HINTS - progress.hints
        advice = f"a hint ({left} left): sandbox learn hint"
        if not left:
            advice = "a client that passes: sandbox learn solution"
        console.print(f"\nnot yet, {result.seconds:g} s; {advice}", markup=False)
        return
    others = "\n".join(f"- {each.said} {each.url}" for each in lesson.front.elsewhere)
    console.print(f"\npassed, {result.seconds:g} s\n")
    _print_markdown(f"## Why\n\n{lesson.why}\n\n## Where it happened to others\n\n{others}")
    if not last:
        console.print("\nthe next lesson: sandbox learn start")


def _print_clause(write: Callable[..., None], found: ClauseResult) -> None:
    write(
        f"[{_COLOURS[found.verdict]}]{found.verdict:<14}[/]{found.id:<29}{found.exposure} of {found.needed}"
    )
    if found.reason:
        write(f"    {found.reason}: what the clause is about did not reach the client", markup=False)
    for finding in found.evidence[:_MOST_SHOWN]:
        write(f"    {finding.said}", markup=False)
    if (left := len(found.evidence) - _MOST_SHOWN) > 0:
        write(f"    and {left} more", markup=False)


def _print_markdown(text: str) -> None:
    from rich.markdown import Markdown

    _console().print(Markdown(text), soft_wrap=False)


def _console() -> Console:
    """Standard output; in a pipe it has a width of its own."""
    from rich.console import Console

    return Console(highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else _PIPE_WIDTH)
