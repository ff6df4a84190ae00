"""The check of a lesson: a client is run through its stages, and judged by its clauses."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from emulator.clock import stopwatch
from rdss_sandbox.shapes.certificate import ClauseResult, ClauseVerdict
from sandbox.certify.attempt import Client
from sandbox.certify.clause import Group, Role
from sandbox.certify.clause_verdicts import judge_clauses
from sandbox.certify.clauses import clauses
from sandbox.certify.history import History, Level
from sandbox.certify.told_lines import json_lines
from sandbox.certify.trial import Trial, play
from sandbox.learn.lesson import Language, Lesson
from sandbox.learn.stage_counts import StageCount, count_stages

# A producer that waits long between its tries must not be taken for one that has stopped.
_PATIENCE_SECONDS: Final = {Role.CONSUMER: 4.0, Role.PRODUCER: 8.0}
_TELLS: Final = {Role.CONSUMER: "processed", Role.PRODUCER: "sent"}


class CheckResult(msgspec.Struct, frozen=True):
    """What a check found. ``output`` are the last lines of a client that ended by itself with an error."""

    lesson: str
    language: Language
    passed: bool
    stages: tuple[StageCount, ...]
    clauses: tuple[ClauseResult, ...]
    output: tuple[str, ...]
    seconds: float

    @property
    def failed(self) -> tuple[str, ...]:
        """The ids of the clauses that fail."""
        return tuple(each.id for each in self.clauses if each.verdict is ClauseVerdict.FAIL)


def check_client(
    lesson: Lesson,
    client: Path,
    language: Language,
    show: Callable[[Callable[[], tuple[StageCount, ...]]], object] = lambda _count: None,
) -> CheckResult:
    """Run a client through the stages of a lesson, and judge it.

    ``show`` gets a function that counts the stages as far as they are played. Raises
    ``ClientNotStartedError``.
    """
    began = stopwatch()
    front = lesson.front
    interpreter = sys.executable if language is Language.PYTHON else "node"
    trial = Trial(
        front.role,
        Client(
            (interpreter, str(client.resolve())),
            json_lines(_TELLS[front.role]),
            _PATIENCE_SECONDS[front.role],
        ),
        front.seed,
        Level.GOLD,
        frozenset(Group),
        only=front.stages,
    )
    planned = lesson.planned

    def follow(history: History) -> None:
        show(lambda: count_stages(front.role, history, planned, over=False))

    history = play(trial, planned, lambda _doing: None, follow)
    judged_clauses = [each for each in clauses(front.role) if each.id in front.clauses]
    results, _ = judge_clauses(judged_clauses, history, trial.command)
    ended = [life for life in history.lives if life.end == "itself" and life.code]
    return CheckResult(
        lesson.name,
        language,
        all(each.verdict is ClauseVerdict.PASS for each in results),
        count_stages(front.role, history, planned, over=True),
        results,
        ended[-1].output if ended else (),
        round(stopwatch() - began, 1),
    )
