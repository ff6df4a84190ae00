"""The verdict: every claim can fail, and what did not happen is not called a success."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from sandbox.demo.demo_verdict import judge
from sandbox.demo.expectation import Expectation
from sandbox.demo.observation import Arrival, Injections, Observation
from sandbox.demo.plan import Plan
from sandbox.judging.verdict import Verdict
from schemas.rdss.error_codes import ErrorCode

PLAN = Plan(1, oversize=1, reshards=("split",))
WANTED = Expectation(
    messages=5,
    processed={"a": "body a", "b": "body b"},
    joined={"b"},
    rejects=Counter({ErrorCode.GENERR004: 1, ErrorCode.GENERR006: 1, ErrorCode.GENERR009: 1}),
    arranged=1,
    echoes=1,
)
DID = Injections(retries=1, redeliveries=2, delays=5, grown=frozenset({"c"}), reshards=Counter({"split": 1}))
SEEN = Observation(
    sent=5,
    acknowledged=5,
    delivered=5,
    stored=6,
    duplicates_dropped=3,
    waiting=0,
    lost=0,
    arrivals={"a": Arrival("body a", 1, 1), "b": Arrival("body b", 2, 1)},
    rejects=Counter({"GENERR004": 1, "GENERR006": 1, "GENERR009": 1}),
    kept=Counter({"GENERR004": 1, "GENERR006": 1, "GENERR009": 1}),
    audit_missing=0,
    injections=DID,
    echoes=1,
)
TABLES = {"messages": 1, "sequences": 1, "duplicates": 1, "rejects": 2, "queued": 3}


def test_a_run_in_which_everything_happened_and_held_passes() -> None:
    """The summary has the counts under the names that programs read."""
    result = judge(PLAN, SEEN, WANTED, TABLES)
    assert result.verdict is Verdict.PASS
    assert result.summary == {
        "seed": 1,
        "sent": 5,
        "acknowledged": 5,
        "delivered": 5,
        "processed_once": 2,
        "processed_twice": 0,
        "lost": 0,
        "duplicates_dropped": 3,
        "sequences_joined": 1,
        "sequences_expected": 1,
        "rejects": {"GENERR004": 1, "GENERR006": 1, "GENERR009": 1},
        "rejects_expected": {"GENERR004": 1, "GENERR006": 1, "GENERR009": 1},
        "audit_missing": 0,
        "amqp": {},
        "pipeline": TABLES,
    }


@pytest.mark.parametrize(
    "wrong",
    [
        {"sent": 4},
        {"acknowledged": 4},
        {"delivered": 4},
        {"stored": 7},
        {"duplicates_dropped": 2},
        {"waiting": 1},
        {"lost": 1},
        {"arrivals": {"a": Arrival("body a", 1, 1)}},
        {"arrivals": SEEN.arrivals | {"x": Arrival("", 1, 1)}},
        {"arrivals": SEEN.arrivals | {"a": Arrival("body a", 1, 2)}},
        {"arrivals": SEEN.arrivals | {"a": Arrival("other", 1, 1)}},
        {"arrivals": SEEN.arrivals | {"b": Arrival("body b", 1, 1)}},
        {"rejects": Counter({"GENERR004": 2})},
        {"kept": Counter({"GENERR004": 1})},
        {"audit_missing": 1},
        {"echoes": 0},
    ],
)
def test_whatever_is_off_fails(wrong: dict[str, Any]) -> None:
    """Each fact by itself, were it otherwise, makes a line that does not hold."""
    assert judge(PLAN, replace(SEEN, **wrong), WANTED, TABLES).verdict is Verdict.FAIL


@pytest.mark.parametrize("missing", [{"delays": 0}, {"grown": frozenset()}, {"reshards": Counter()}])
def test_a_fault_that_never_struck_shows_nothing(missing: dict[str, Any]) -> None:
    """Everything held, but under less than was planned: inconclusive."""
    seen = replace(SEEN, injections=replace(DID, **missing))
    assert judge(PLAN, seen, WANTED, TABLES).verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize("table", TABLES)
def test_every_table_of_the_pipeline_counts(table: str) -> None:
    """A row too few in one table fails; a broken pipeline fails with its reason; one left out has no line."""
    assert judge(PLAN, SEEN, WANTED, TABLES | {table: 0}).verdict is Verdict.FAIL
    broken = judge(PLAN, SEEN, WANTED, RuntimeError("no space"))
    assert (broken.verdict, broken.lines[-1].observed) == (Verdict.FAIL, "RuntimeError: no space")
    assert judge(PLAN, SEEN, WANTED, None).verdict is Verdict.PASS


BY_AMQP = replace(SEEN, stored=6, rejects=Counter({"GENERR004": 1}), kept=Counter({"GENERR004": 1}))
WANTED_BY_AMQP = replace(WANTED, rejects=Counter({ErrorCode.GENERR004: 1}))


def test_what_went_through_amqp_is_judged_as_well() -> None:
    """It has lines of its own, and its counts under ``amqp`` in the summary."""
    result = judge(PLAN, SEEN, WANTED, None, (BY_AMQP, WANTED_BY_AMQP))
    assert result.verdict is Verdict.PASS
    assert (result.summary["amqp"]["sent"], result.summary["amqp"]["processed_once"]) == (5, 2)


@pytest.mark.parametrize(
    "wrong",
    [
        {"sent": 4},
        {"acknowledged": 4},
        {"stored": 7},
        {"duplicates_dropped": 2},
        {"waiting": 1},
        {"lost": 1},
        {"arrivals": {"a": Arrival("body a", 1, 1)}},
        {"arrivals": SEEN.arrivals | {"a": Arrival("body a", 1, 2)}},
        {"arrivals": SEEN.arrivals | {"a": Arrival("other", 1, 1)}},
        {"rejects": Counter({"GENERR001": 1})},
        {"kept": Counter()},
        {"audit_missing": 1},
    ],
)
def test_whatever_is_off_through_amqp_fails(wrong: dict[str, Any]) -> None:
    amqp = replace(BY_AMQP, **wrong), WANTED_BY_AMQP
    assert judge(PLAN, SEEN, WANTED, None, amqp).verdict is Verdict.FAIL
