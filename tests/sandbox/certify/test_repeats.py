"""The same seed gives the same run, and the first consumer that anybody writes fails as it should."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from dataclasses import replace

import pytest

from rdss_sandbox.shapes.certificate import ClauseVerdict
from sandbox.certify.clause import Group, Role
from sandbox.certify.clause_verdicts import judge_clauses
from sandbox.certify.clauses import clauses
from sandbox.certify.history import Level
from sandbox.certify.stages import Stage
from sandbox.certify.trial import Trial, certify, make_small, play
from tests.sandbox.certify.trials import CLIENTS, python_trial

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

_TIMES = 10
_BOUND_SECONDS = 90.0


@pytest.mark.parametrize(
    ("role", "program", "only"),
    [
        pytest.param(
            *(Role.CONSUMER, "right_consumer.py", ("throttling:6", "expired iterators:6", "errors:6")),
            marks=pytest.mark.long,
        ),
        (Role.CONSUMER, "naive_consumer.py", ("duplicates:6", "delays:6")),
        pytest.param(Role.CONSUMER, "naive_consumer.py", ("throttling:6",), marks=pytest.mark.long),
        (Role.PRODUCER, "right_producer.py", ("delays:6", "partial failures:6")),
    ],
)
def test_the_same_seed_gives_the_same_run(role: Role, program: str, only: tuple[str, ...]) -> None:
    """Ten times in a row: the messages, whom the faults strike, and the verdicts."""
    trial = replace(python_trial(role, CLIENTS / program), only=only, seed=11)
    assert len({_run(trial, trial.planned) for _ in range(_TIMES)}) == 1


def _run(trial: Trial, planned: Iterable[Stage]) -> tuple[object, ...]:
    history = play(trial, tuple(planned), lambda _doing: None)
    results, level = judge_clauses(clauses(trial.role), history, trial.command)
    # How often a client reads is its own affair; what it was given is the seed's.
    verdicts = tuple((each.id, each.verdict) for each in results if each.id != "reads-within-limits")
    struck = tuple(sorted((each.type, each.message_id or "") for each in history.injected))
    return tuple(each.message_id for each in history.sent), struck, verdicts, level


@pytest.mark.long
def test_the_naive_consumer_fails_with_numbers() -> None:
    """It never reads the shards that a split makes; the certificate counts what lies there, in time."""
    trial = replace(python_trial(Role.CONSUMER, CLIENTS / "naive_consumer.py"), level=Level.SILVER)
    certificate, _ = certify(trial, lambda _doing: None)
    found = {each.id: each for each in certificate.clauses}["every-shard-read"]
    assert found.verdict is ClauseVerdict.FAIL
    assert re.search(r"was never read: (\d+) of its \1 records were not delivered", found.evidence[0].said)
    assert certificate.seconds < _BOUND_SECONDS


@pytest.mark.long
def test_a_failure_is_made_small() -> None:
    """Of two stages and forty messages one stage and five remain, with the command that plays just these."""
    trial = replace(
        python_trial(Role.CONSUMER, CLIENTS / "naive_consumer.py", patience=3.0),
        groups=frozenset({Group.DELIVERY}),
        level=Level.SILVER,
        only=("split", "throttling"),
    )
    certificate, _ = certify(trial, lambda _doing: None)
    smallest = make_small(trial, certificate, lambda _doing: None, 240.0).smallest[0]
    assert (smallest.clause, smallest.stage, smallest.of) == ("every-shard-read", "split", 2)
    assert (smallest.messages, smallest.fails, smallest.tries) == (5, 3, 3)
    assert "was never read" in smallest.said
    words = shlex.split(smallest.replay)
    assert words[words.index("--stage") + 1] == "split:5"
    assert words[-2:] == list(trial.client.command)
