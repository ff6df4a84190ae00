"""The proof of a lesson: its broken client fails as the lesson says, and its solution passes."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

from sandbox.certify.stages import QUIET
from sandbox.learn.check import CheckResult, check_client
from sandbox.learn.lesson import Language, Lesson
from sandbox.learn.workplace import FOLDER, place_package


def prove_lesson(lesson: Lesson, language: Language, directory: Path) -> list[str]:
    """Check both clients of a lesson; return what is not as the lesson says.

    They are put where a learner's clients lie, so that they find what those find. Raises
    ``ClientNotStartedError``, and OSError.
    """
    place_package(language, directory)
    learners = directory / FOLDER
    learners.mkdir(parents=True, exist_ok=True)
    # Both checks wait for their clients most of the time.
    with TemporaryDirectory(dir=learners, prefix="proof-") as folder, ThreadPoolExecutor(2) as pool:
        client = Path(shutil.copy(lesson.client(language), folder))
        solution = client.with_stem("solution")
        solution.write_text(lesson.solve(language), encoding="utf-8")
        broken, solved = pool.map(lambda file: check_client(lesson, file, language), (client, solution))
    return [*_problems_of_broken(lesson, broken), *_problems_of_solution(solved)]


def _problems_of_broken(lesson: Lesson, found: CheckResult) -> Iterator[str]:
    front = lesson.front
    if set(found.failed) != set(front.fails):
        yield f"the broken client fails {_list(found.failed)}, and not {_list(front.fails)}"
    sentences = [
        finding.said for each in found.clauses if each.id == front.fails[0] for finding in each.evidence
    ]
    if not any(front.reason in each for each in sentences):
        yield f"no finding of {front.fails[0]} has {front.reason!r}: {sentences[:3]}"
    quiet = found.stages[0]
    if quiet.stage != QUIET.name or quiet.lost or quiet.twice or quiet.processed != quiet.sent:
        yield f"the broken client does not seem to work on a quiet day: {quiet}"
    if not any(
        each.lost or each.twice or each.rejected < each.bad or each.happened for each in found.stages[1:]
    ):
        yield "nothing that the check counts shows what the broken client does wrong"


def _problems_of_solution(found: CheckResult) -> Iterator[str]:
    for each in found.clauses:
        if each.verdict != "pass":
            sentences = [finding.said for finding in each.evidence[:3]]
            yield f"the solution: {each.id} {each.verdict} ({each.reason or ''}{each.exposure}): {sentences}"
    if found.output:
        yield f"the solution ended by itself: {found.output[-3:]}"


def _list(names: tuple[str, ...]) -> str:
    return ", ".join(names) or "nothing"
