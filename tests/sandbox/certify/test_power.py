"""The kit can fail: a wrong client of each clause fails it, and nothing unrelated. Right clients pass all.

It is a sample of the population, of which ``make bench ARGS="--area certify"`` tries all.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from sandbox.certify.clause import Role
from sandbox.certify.clauses import CLAUSES
from sandbox.certify.told_lines import matching_lines
from sandbox.certify.trial import Trial, certify
from tests.sandbox.certify.population.kind import Shape
from tests.sandbox.certify.population.kind import build_trial as build_shape
from tests.sandbox.certify.population.population import SHAPES, WRONG, WrongClient
from tests.sandbox.certify.population.rights import first_of_each
from tests.sandbox.certify.trials import build_trial, find_rules, judge_all, play_stages

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

_SAMPLE: Final = {
    (each.shape.role, each.shape.channel, each.kind.clause): each
    for each in reversed(WRONG)
    if not each.shape.needs
}
"""The first wrong client of each clause."""
_NOT_WHOLE: Final = {"kinesis-consumer-fan-out", "kinesis-producer-single", "kinesis-producer-threads"}
"""Shapes of which some clauses are not exercised."""
_FEWEST_KILLS: Final = 5
"""A producer that puts its whole file in one call can be killed so often, others 15 times."""


def _build(shape: Shape, program: Path, **more: object) -> Trial:
    """A trial of a shape; where what it needs cannot be installed the test is skipped."""
    try:
        return build_shape(shape, program, **more)  # type: ignore[arg-type]
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"{shape.needs} cannot be installed ({error}): python -m tests.real_clients.install")


@pytest.mark.parametrize(
    "wrong", _SAMPLE.values(), ids=lambda each: f"{each.shape.id}, {each.kind.name}".replace(" ", "-")
)
def test_a_wrong_client_fails_the_clause_about_it(wrong: WrongClient, tmp_path: Path) -> None:
    """A client with one bug fails the clause that names it, and no unrelated one."""
    kind, shape = wrong.kind, wrong.shape
    # A consumer of a queue that keeps what it has in hand is waited for five times as long.
    patience = 4.0 if shape.channel == "kinesis" else 2.0
    trial = _build(shape, wrong.write(tmp_path), patience=patience, groups=kind.groups)
    history = play_stages(trial, kind.stages)
    failed = {name for name, each in judge_all(trial, history).items() if each.verdict == "fail"}
    assert kind.clause in failed
    assert failed <= {kind.clause} | kind.also
    assert kind.finds <= find_rules(history)


@pytest.mark.real_client
@pytest.mark.timeout(600)
@pytest.mark.parametrize("shape", first_of_each(SHAPES))
def test_a_right_client_fails_nothing(shape: Shape) -> None:
    """A right client of each way of working is accused of nothing, and no rule of a clause finds anything.

    Rules about writers find what the kit itself publishes to a consumer that is to refuse it.
    """
    certificate, history = certify(_build(shape, shape.program), lambda _doing: None)
    assert not certificate.failed, [f"{each.id}: {each.evidence}" for each in certificate.clauses]
    assert shape.id in _NOT_WHOLE or certificate.missed == ()
    kills = next(each.exposure for each in certificate.clauses if each.id == "resumes-after-a-kill")
    assert kills >= _FEWEST_KILLS
    rules = {rule.id for clause in CLAUSES if clause.role is shape.role for rule in clause.rules}
    assert not find_rules(history) & rules


def test_who_ends_at_poison_is_tried_with_the_rest(tmp_path: Path) -> None:
    """A consumer that ends at every bad message comes to the stage whose clause names that."""
    names = ("rabbitmq-consumer-contract", "a bad message ends it")
    wrong = next(each for each in WRONG if (each.shape.id, each.kind.name) == names)
    trial = _build(wrong.shape, wrong.write(tmp_path), patience=2.0, groups=wrong.kind.groups)
    history = play_stages(trial, ("duplicates", "poison", "bad messages"))
    failed = {name for name, each in judge_all(trial, history).items() if each.verdict == "fail"}
    assert {"dead-letters-poison", wrong.kind.clause} <= failed


def test_the_sandboxs_own_receiver_passes() -> None:
    """``sandbox receive`` passes every clause but the one on bodies, whose digests it does not tell."""
    command = 'cd "$SANDBOX_STATE_DIR" && exec "$0" -m sandbox receive --json --follow'
    trial = build_trial(Role.CONSUMER, "sh", "-c", command, sys.executable)
    told = matching_lines(r'^(?!.*"rejected").*?"messageId": ?"([^"]+)"')
    certificate, _ = certify(
        replace(trial, client=trial.client._replace(read_line=told)), lambda _doing: None
    )
    left = {each.id: each.reason for each in certificate.clauses if each.verdict != "pass"}
    assert left == {"bodies-unaltered": "not-observable"}
