"""The page of a certificate, as somebody reads it who was not there."""

from __future__ import annotations

import re

import pytest

from rdss_sandbox.shapes.certificate import Certificate, ClauseResult, ClauseVerdict, Finding
from rdss_sandbox.shapes.trace import Delivery, Read
from sandbox.certify.certificate_page import page
from sandbox.certify.clause import Clause
from sandbox.certify.clause_verdicts import count_verdicts, judge_levels
from sandbox.certify.clauses import CLAUSES
from sandbox.certify.history import FinalShard, History, Level, Life, StageEnd, Statement

_LOST = tuple(Finding(f"m-{number} was never read", 1, stage="restart") for number in range(5))
_DIED = Finding("the consumer ended by itself", 1, stage="delays", output=("KeyError: 'missing'",))


def _result(name: str, verdict: ClauseVerdict, *found: Finding, reason: str | None = None) -> ClauseResult:
    return ClauseResult(
        name,
        "delivery",
        verdict,
        5,
        3,
        reason,
        f"What {name} demands.",
        "A document",
        found,
        "again",
        "bronze",
        f"How to mend {name}.",
    )


def _certificate(*results: ClauseResult, level: str | None = None) -> Certificate:
    return Certificate(
        {"version": 1, "sandbox": "0"},
        {"command": ["python", "client.py"], "files": {}},
        "consumer",
        "kinesis",
        7,
        level,
        results,
        count_verdicts(results),
        1.5,
        judge_levels(results),
        stages={"restart": "The client is started again.", "delays": "Answers come late."},
    )


@pytest.fixture
def history() -> History:
    """Two stages on two shards, the second of which only the first stage read."""
    history = History("input", 0.0)
    history.stages = [(0.0, "delays", Level.BRONZE), (5.0, "restart", Level.BRONZE)]
    history.ends = [StageEnd(5.0, "delays", 0), StageEnd(9.0, "restart", 1)]
    history.lives = [Life(0, 0.0, 4.0, "itself"), Life(1, 5.0, 9.0, "SIGTERM")]
    history.shards = [FinalShard("shard-a", (), ()), FinalShard("shard-b", (), ())]
    for at, shard in ((1.0, "shard-a"), (2.0, "shard-b"), (6.0, "shard-a")):
        history.exchanges.append(Read(at, 0, "input", shard, "i", (Delivery("1", "m-9"),)))
    history.told = [Statement("m-9", 6.5, 1)]
    return history


def test_a_failure_comes_first_with_its_cause_and_what_to_do(history: History) -> None:
    """The client's own words lead, what a stage does is said once, and what is alike is folded."""
    written = page(
        _certificate(_result("good", ClauseVerdict.PASS), _result("bad", ClauseVerdict.FAIL, *_LOST, _DIED)),
        history,
    )
    wanted = ("How to mend bad.", "Answers come late.", "KeyError", "The client is started again.", "m-0 was")
    at = [
        written.index(each) for each in (*wanted, "and 2 more", "m-4 was", "1 passes", "What good demands.")
    ]
    assert at == sorted(at)
    assert written.count("The client is started again.") == 1
    assert "No level" in written
    assert "1 of its 2 clauses fails." in written


def test_the_picture_of_a_stage_has_that_stage_alone(history: History) -> None:
    """A shard that nobody read in it is no lane, and the whole run comes at the end."""
    written = page(_certificate(_result("bad", ClauseVerdict.FAIL, *_LOST)), history)
    restart, whole = re.findall(r"<svg role.*?</svg>", written)
    assert ("shard-a" in restart, "shard-b" in restart) == (True, False)
    assert (restart.count("<circle"), whole.count("<circle")) == (2, 4)
    assert "the stage restart, 4 seconds" in restart


def test_what_was_not_shown_says_why(history: History) -> None:
    """Before what passes, since it bars the level; in a sentence, not in a code."""
    missed = _result("missed", ClauseVerdict.NOT_EXERCISED, reason="nothing-told")
    written = page(_certificate(missed, _result("good", ClauseVerdict.PASS)), history)
    assert written.index("the client reported none of the messages that it got") < written.index("1 passes")
    assert "Nothing failed, and too little was shown for a level." in written


def test_a_level_says_what_it_means(history: History) -> None:
    """In one line, which nobody has to look up."""
    written = page(_certificate(_result("good", ClauseVerdict.PASS), level="silver"), history)
    assert "It holds on bad days" in written
    assert "What failed" not in written


@pytest.mark.parametrize("clause", CLAUSES, ids=lambda clause: f"{clause.role}-{clause.id}")
def test_every_clause_says_what_to_do(clause: Clause) -> None:
    """Its own advice, or that of the rules that it shares with the diagnosis."""
    assert clause.advise().endswith(".")
