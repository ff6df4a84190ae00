"""``learn/index.html``: the course for a browser, in one file without a network, as far as a learner is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Final

from markdown_it import MarkdownIt

from emulator.pages.course import COURSE_FRAME, LOAD_AGAIN
from emulator.pages.frame import wide
from rdss_sandbox.shapes.certificate import ClauseResult, ClauseVerdict
from sandbox.certify.clause import Role
from sandbox.learn.check import CheckResult
from sandbox.learn.course_progress import CourseProgress, LessonProgress
from sandbox.learn.lesson import Lesson
from sandbox.learn.stage_counts import StageCount

_CLASSES: Final = {
    ClauseVerdict.PASS: "pass",
    ClauseVerdict.FAIL: "fail",
    ClauseVerdict.NOT_EXERCISED: "open",
}
_MOST_FINDINGS: Final = 5
_MARKDOWN: Final = MarkdownIt("js-default")
"""Markdown in which HTML is text: a lesson can be somebody else's."""


def course_page(
    lessons: Sequence[Lesson], progress: CourseProgress, checks: Mapping[str, CheckResult]
) -> str:
    """The whole HTML document. ``checks`` has the last check of each lesson that was checked, by its name.

    It shows what the learner has seen in the terminal, and no hint or reason that was not earned yet.
    """
    started = [each for each in lessons if each.name in progress.lessons]
    passed = sum(progress.lessons[each.name].passed is not None for each in started)
    articles = "\n".join(
        _article(each, progress.lessons[each.name], checks.get(each.name)) for each in started
    )
    return COURSE_FRAME.render(
        f"Learn to write a client: {passed} of {len(lessons)}",
        "<h1>Learn to write a client</h1>"
        f"<p class=lead>{passed} of {len(lessons)} lessons passed. {LOAD_AGAIN}</p>\n"
        f"<div class=course>\n{_navigation(lessons, progress)}\n<div>\n{articles}\n</div>\n</div>",
    )


def _navigation(lessons: Sequence[Lesson], progress: CourseProgress) -> str:
    items = []
    for each in lessons:
        found = progress.lessons.get(each.name)
        title = f"{each.number}. {escape(each.title)}"
        if found is None:
            items.append(f"<li>{title}<small>sandbox learn start {each.number}</small></li>")
            continue
        here = ' aria-current="true"' if each.name == progress.current else ""
        state = f"passed at check {found.passed}" if found.passed else f"started; checks: {found.checks}"
        colour = "pass" if found.passed else "open"
        items.append(
            f'<li><a href="#{each.name}"{here}>{title}</a><small class={colour}>{state}</small></li>'
        )
    return f'<nav aria-label="Lessons"><ol>{"".join(items)}</ol></nav>'


def _article(lesson: Lesson, found: LessonProgress, check: CheckResult | None) -> str:
    hints = "".join(
        f"<details><summary>Hint {number}</summary>{_html(text)}</details>"
        for number, text in enumerate(lesson.hints[: found.hints], 1)
    )
    why = ""
    if found.passed is not None:
        others = "".join(
            f'<li>{escape(each.said)} <a href="{escape(each.url)}">{escape(each.url)}</a></li>'
            for each in lesson.front.elsewhere
        )
        why = f"<h3>Why</h3>{_html(lesson.why)}<h3>Where it happened to others</h3><ul>{others}</ul>"
    client = f"learn/{lesson.name}/{lesson.client(found.language).name}"
    return (
        f'<article id="{lesson.name}" aria-labelledby="{lesson.name}-title">'
        f'<h2 id="{lesson.name}-title">{lesson.number}. {escape(lesson.title)}</h2>{_html(lesson.text)}'
        f"<p>Your client: <code>{client}</code></p><h3>Look at</h3>{_html(lesson.look_at)}"
        f"{_last_check(check, lesson.front.role) if check else ''}{hints}{why}</article>"
    )


def _last_check(check: CheckResult, role: Role) -> str:
    consumer, bad = role is Role.CONSUMER, any(each.bad for each in check.stages)
    numbers = ["sent", "processed"] if consumer else ["in the file", "in the stream"]
    numbers += ["lost", "twice", *(["bad, rejected"] if bad else [])]
    titles = "".join(f"<th scope=col class=n>{each}" for each in numbers)
    rows = "".join(_stage(each, bad=bad, passed=check.passed) for each in check.stages)
    verdict = "passed" if check.passed else "not yet"
    clauses = "".join(_clause(each) for each in check.clauses)
    table = (
        f"<table><caption>{verdict}, {check.seconds:g} s</caption>"
        f"<thead><tr><th scope=col>stage{titles}<th scope=col>what happened</thead>"
        f"<tbody>{rows}</tbody></table>"
    )
    counts = wide(table, f"counts of the last check of {check.lesson}")
    return f"<h3>Your last check</h3>{counts}<ul>{clauses}</ul>"


def _stage(count: StageCount, *, bad: bool, passed: bool) -> str:
    happened = ", ".join(f"{what} {times}x" for what, times in count.happened.items()) or "-"
    rejected = f"<td class=n>{count.rejected} of {count.bad}" if bad else ""
    return (
        f"<tr><th scope=row>{escape(count.stage)}<td class=n>{count.sent}<td class=n>{count.processed}"
        f"{_loss(count.lost or 0)}{_loss(count.twice, allowed=passed)}{rejected}<td>{escape(happened)}"
    )


def _loss(count: int, *, allowed: bool = False) -> str:
    """A cell that stands out; what a check that passed allows, such as a repeat after a kill, does not."""
    return f'<td class="n fail">{count}' if count and not allowed else f"<td class=n>{count}"


def _clause(result: ClauseResult) -> str:
    items = "".join(f"<li>{escape(each.said)}</li>" for each in result.evidence[:_MOST_FINDINGS])
    return (
        f"<li><span class={_CLASSES[result.verdict]}>{result.verdict}</span> <code>{result.id}</code>: "
        f"{escape(result.demand)}{f'<ul>{items}</ul>' if items else ''}</li>"
    )


def _html(markdown: str) -> str:
    return str(_MARKDOWN.render(markdown))
