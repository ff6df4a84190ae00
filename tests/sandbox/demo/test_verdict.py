"""The verdict: every claim can fail, and what did not happen is not called a success."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from sandbox.demo.archive_contents import Archived
from sandbox.demo.demo_verdict import Leg, judge
from sandbox.judging.verdict import Verdict
from tests.sandbox.demo.small_plan import shrink_plan

PLAN = shrink_plan(
    1,
    messages=3,
    sequences=1,
    bad=1,
    oversize=1,
    duplicates=0.1,
    failures=("own-message", "broker-unreachable", "application-fails"),
)
CODES = {"GENERR004": 1, "GENERR005": 1, "GENERR006": 1, "GENERR009": 1}
FACTS: dict[str, float] = {
    "sent": 8,
    "parts": 8,
    "acknowledged": 7,
    "reached": 7,
    "lost": 0,
    "misjudged": 0,
    "altered": 0,
    "valid": 2,
    "processed": 2,
    "twice": 0,
    "sequences": 1,
    "joined": 1,
    "incomplete": 0,
    "waiting": 0,
    "own": 1,
    "echoes": 1,
    "dropped": 3,
    "repeats": 0,
    "copies": 3,
    "copies.retries": 1,
    "copies.redeliveries": 2,
    "injected.latency": 5,
    "injected.grown": 1,
    "rejected": 4,
    "due": 4,
    **{f"{fact}.{code}": count for fact in ("rejected", "due") for code, count in CODES.items()},
}
STREAM = Leg(PLAN.stream, FACTS, Archived(8, Counter(CODES), 0), Counter({"split": 2, "merge": 1}))
QUEUE = replace(STREAM, scenario=PLAN.queue, reshards=Counter())
TABLES = {"messages": 3, "sequences": 1, "duplicates": 1, "rejects": 2, "queued": 4}


def _seeing(leg: Leg, **facts: float) -> Leg:
    return replace(leg, facts=leg.facts | {name.replace("_CODE", "."): n for name, n in facts.items()})


def test_a_run_in_which_everything_happened_and_held_passes() -> None:
    """The summary has the counts under the names that programs read."""
    result = judge(1, STREAM, TABLES)
    assert result.verdict is Verdict.PASS, [line for line in result.lines if not line.holds]
    assert result.summary == {
        "seed": 1,
        "sent": 7,
        "acknowledged": 7,
        "delivered": 7,
        "processed_once": 2,
        "processed_twice": 0,
        "lost": 0,
        "duplicates_dropped": 3,
        "sequences_joined": 1,
        "sequences_expected": 1,
        "rejects": CODES,
        "rejects_expected": CODES,
        "audit_missing": 0,
        "amqp": {},
        "pipeline": TABLES,
    }


WRONG = [
    {"sent": 7},
    {"acknowledged": 6},
    {"lost": 1},
    {"processed": 1},
    {"misjudged": 1},
    {"twice": 1},
    {"altered": 1},
    {"waiting": 1},
    {"dropped": 2},
    {"rejected_CODEGENERR004": 2},
]


@pytest.mark.parametrize("wrong", [*WRONG, {"reached": 6}, {"joined": 0}, {"echoes": 0}])
def test_whatever_is_off_fails(wrong: dict[str, float]) -> None:
    """Each fact by itself, were it otherwise, makes a line that does not hold."""
    assert judge(1, _seeing(STREAM, **wrong), TABLES).verdict is Verdict.FAIL


@pytest.mark.parametrize("wrong", WRONG)
def test_whatever_is_off_through_amqp_fails(wrong: dict[str, float]) -> None:
    """It has lines of its own, and its counts under ``amqp`` in the summary."""
    held = judge(1, STREAM, None, QUEUE)
    assert held.verdict is Verdict.PASS, [line for line in held.lines if not line.holds]
    assert (held.summary["amqp"]["sent"], held.summary["amqp"]["processed_once"]) == (7, 2)
    assert judge(1, STREAM, None, _seeing(QUEUE, **wrong)).verdict is Verdict.FAIL


@pytest.mark.parametrize(
    "archived",
    [Archived(9, Counter(CODES), 0), Archived(8, Counter(GENERR004=1), 0), Archived(8, Counter(CODES), 1)],
)
def test_what_the_archives_lack_or_have_too_much_fails(archived: Archived) -> None:
    """A message too many in the stream, a reject that is in no bucket, one that is not in the audit log."""
    assert judge(1, replace(STREAM, archived=archived), None).verdict is Verdict.FAIL
    assert judge(1, STREAM, None, replace(QUEUE, archived=archived)).verdict is Verdict.FAIL


@pytest.mark.parametrize("fact", ["injected.latency", "injected.grown", "reshards"])
def test_a_fault_that_never_struck_shows_nothing(fact: str) -> None:
    """Everything held, but under less than was planned: inconclusive."""
    seen = replace(STREAM, facts=STREAM.facts | {fact: 0})
    if fact == "reshards":
        seen = replace(STREAM, reshards=Counter())
    assert judge(1, seen, None).verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize("table", TABLES)
def test_every_table_of_the_pipeline_counts(table: str) -> None:
    """A row too few in one table fails; a broken pipeline fails with its reason; one left out has no line."""
    assert judge(1, STREAM, TABLES | {table: 0}).verdict is Verdict.FAIL
    broken = judge(1, STREAM, RuntimeError("no space"))
    assert (broken.verdict, broken.lines[-1].observed) == (Verdict.FAIL, "RuntimeError: no space")
    assert judge(1, STREAM, None).verdict is Verdict.PASS
