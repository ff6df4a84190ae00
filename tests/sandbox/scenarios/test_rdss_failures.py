"""Failures as steps of a scenario: each alone has its outcome, and where it means nothing it is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from sandbox.judging.verdict import Verdict
from sandbox.scenarios.facts import compute_facts
from sandbox.scenarios.judgement import judge_facts
from sandbox.scenarios.play import play
from sandbox.scenarios.rdss_failures import FAILURES
from sandbox.scenarios.scenario import ScenarioError, read_scenario, schema

ONE: dict[str, Any] = {
    "name": "one",
    "title": "One",
    "teach": {"happens": "a", "why": "b", "client": "c"},
    "workload": {"messages": 1},
    "expect": {"processed": 1, "rejected": "== due", "echoes": "== own"},
}


@pytest.mark.parametrize("name", FAILURES)
def test_each_failure_has_its_outcome(name: str, tmp_path: Path) -> None:
    """Its message is rejected with its code, or dropped by who sent it; the other one is processed."""
    scenario = read_scenario("one.yaml", yaml.safe_dump(ONE | {"failures": [name]}))
    facts = compute_facts(play(scenario, tmp_path, seed=3))
    assert judge_facts(scenario, facts).verdict is Verdict.PASS, facts
    code = FAILURES[name].code
    assert (facts["rejected"], facts["own"]) == ((0, 1) if code is None else (1, 0))
    assert code is None or facts[f"rejected.{code}"] == 1


def test_the_schema_knows_every_failure_and_no_other() -> None:
    """An editor offers what there is; another name is refused with its place."""
    assert set(schema()["properties"]["failures"]["items"]["enum"]) == FAILURES.keys()
    with pytest.raises(ScenarioError, match="failures/0"):
        read_scenario("one.yaml", yaml.safe_dump(ONE | {"failures": ["fog"]}))


def test_workers_that_claim_have_no_failures() -> None:
    """The applications that fail read a channel; a scenario of claims with failures is refused."""
    claiming = ONE | {"failures": ["application-fails"], "consumer": {"claims": {"workers": 2}}}
    with pytest.raises(ScenarioError, match="their applications claim nothing"):
        read_scenario("one.yaml", yaml.safe_dump(claiming))
