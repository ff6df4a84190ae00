"""What ``sandbox learn`` shows: texts, counts that grow while a check runs, and what it found."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

    from rdss_sandbox.shapes.certificate import ClauseResult
    from sandbox.learn.check import CheckResult
    from sandbox.learn.course_progress import LessonProgress
    from sandbox.learn.lesson import Language, Lesson
    from sandbox.learn.stage_counts import StageCount

_MOST_SHOWN = 3
_COLOURS = {"pass": "green", "fail": "bold red", "not exercised": "yellow", "not applicable": "dim"}
_PIPE_WIDTH = 100


def check_on_screen(lesson: Lesson, file: Path, language: Language) -> CheckResult:
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


def print_result(result: CheckResult, lesson: Lesson, progress: LessonProgress, *, last: bool) -> None:
    """Print what a check found, and either what helps or why it matters; ``last`` ends the course."""
    console = _console()
    console.print(_table(result.stages, lesson))
    console.print()
    for each in result.clauses:
        _print_clause(console.print, each)
    for line in result.output[-_MOST_SHOWN:]:
        console.print(f"    its last words: {line}", markup=False)
    if not result.passed:
        left = len(lesson.hints) - progress.hints
        advice = f"a hint ({left} left): sandbox learn hint"
        if not left:
            advice = "a client that passes: sandbox learn solution"
        console.print(f"\nnot yet, {result.seconds:g} s; {advice}", markup=False)
        return
    others = "\n".join(f"- {each.said} {each.url}" for each in lesson.front.elsewhere)
    console.print(f"\npassed, {result.seconds:g} s\n")
    print_markdown(f"## Why\n\n{lesson.why}\n\n## Where it happened to others\n\n{others}")
    if not last:
        console.print("\nthe next lesson: sandbox learn start")


def _print_clause(write: Callable[..., None], found: ClauseResult) -> None:
    write(
        f"[{_COLOURS[found.verdict]}]{found.verdict:<14}[/]{found.id:<29}{found.exposure} tried, "
        f"{found.needed} needed"
    )
    if found.reason:
        from sandbox.certify.clause import REASONS

        write(f"    {REASONS.get(found.reason, found.reason)}", markup=False)
    for finding in found.evidence[:_MOST_SHOWN]:
        write(f"    {finding.said}", markup=False)
    if (left := len(found.evidence) - _MOST_SHOWN) > 0:
        write(f"    and {left} more", markup=False)


def print_markdown(text: str) -> None:
    """Print Markdown as a terminal shows it."""
    from rich.markdown import Markdown

    _console().print(Markdown(text), soft_wrap=False)


def _console() -> Console:
    """Standard output; in a pipe it has a width of its own."""
    from sandbox.visible_output import make_console

    return make_console(highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else _PIPE_WIDTH)
