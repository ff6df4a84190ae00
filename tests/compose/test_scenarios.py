"""Scenarios of the library through the stack: its faults and its clock, with boto3 and pika as clients."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulator.clock import Clock
from rdss_sandbox.client import Client
from rdss_sandbox.shapes.clock import ClockChange
from sandbox.aws_endpoint import AwsEndpoint
from sandbox.judging.verdict import Verdict
from sandbox.scenarios.facts import Facts, compute_facts
from sandbox.scenarios.judgement import judge_facts
from sandbox.scenarios.play import QUIET_SECONDS, START
from sandbox.scenarios.running_sandbox import ScenarioSandbox, play_in
from sandbox.scenarios.scenario import Scenario, library
from sandbox.scenarios.workload import make_messages
from tests.compose.stack import Stack

pytestmark = [pytest.mark.xdist_group("compose"), pytest.mark.compose, pytest.mark.timeout(600)]

SPEED = 20.0
"""Seconds of the scenario a second, for the stack and for its clients: a minute takes three seconds."""

QUIET = QUIET_SECONDS[:-1]
"""Two minutes instead of four until nothing more is awaited: twice what the longest fault lasts."""


@pytest.fixture(autouse=True)
def soon_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sandbox.scenarios.play.QUIET_SECONDS", QUIET)


def played(scenario: Scenario, stack: Stack, control: Client, folder: Path, kind: str) -> Facts:
    """What comes of a scenario that the stack, begun afresh, is put through by its control API."""
    control.reset()
    control.change_clock(ClockChange("speed", speed=SPEED))
    clock = Clock(frozen_at=START)
    clock.run_at(SPEED)
    said = stack.said
    sandbox = ScenarioSandbox(AwsEndpoint(said["aws"], said["region"], said["token"]), control, said["amqp"])
    messages = tuple(make_messages(scenario.workload, 7, START))
    try:
        return compute_facts(play_in(sandbox, scenario, messages, folder, clock, seed=7, kind=kind))
    finally:
        control.change_clock(ClockChange("real"))


@pytest.mark.parametrize("name", ["split-under-load", "producer-retry"])
def test_a_scenario_holds_over_kinesis(stack: Stack, control: Client, tmp_path: Path, name: str) -> None:
    """Every expectation of its file, in LocalStack as in our own engine."""
    scenario = library()[name]
    judgement = judge_facts(scenario, played(scenario, stack, control, tmp_path, "kinesis"))
    assert judgement.verdict is Verdict.PASS, judgement


@pytest.mark.parametrize("name", ["producer-retry", "broker-gone-for-a-minute"])
def test_a_scenario_holds_over_rabbitmq(stack: Stack, control: Client, tmp_path: Path, name: str) -> None:
    """Nothing is lost, done twice or altered; a copy of the relay's has its original's message_id too."""
    facts = played(library()[name], stack, control, tmp_path, "rabbitmq")
    assert facts["processed"] == facts["offered"]
    assert (facts["lost"], facts["twice"], facts["altered"], facts["misjudged"]) == (0, 0, 0, 0)
    if name == "producer-retry":
        assert (facts["injected.retries"], facts["repeated"]) == (10, 10)
    else:
        assert facts["injected.gone"] >= 1
        assert facts["took"] >= 60
