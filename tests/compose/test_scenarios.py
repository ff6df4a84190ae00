"""Scenarios of the library through the stack: its faults and its clock, with boto3 and pika as clients."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from emulator.channels import Channel, Checkpoints
from emulator.channels.kinesis import KinesisChannel
from emulator.channels.rabbitmq import RabbitMQChannel
from emulator.clock import Clock
from emulator.events import Events
from emulator.rng import Chance
from rdss_sandbox.client import Client
from rdss_sandbox.shapes.clock import ClockChange
from rdss_sandbox.shapes.events import Event
from sandbox.endpoint import Endpoint
from sandbox.judging.verdict import Verdict
from sandbox.scenarios.backend import BROKER_SECONDS, ScenarioBackend
from sandbox.scenarios.client_environment import ClientEnvironment
from sandbox.scenarios.facts import Facts, compute_facts
from sandbox.scenarios.judgement import judge_facts
from sandbox.scenarios.play import QUIET_SECONDS, START, Played, Turns
from sandbox.scenarios.scenario import INPUT, Scenario, library
from sandbox.scenarios.scenario_client import OURS
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
    events = Events(clock, keep=100_000)
    channels = {"kinesis": over_kinesis, "rabbitmq": over_rabbitmq}[kind]
    site = ClientEnvironment(
        folder,
        clock,
        events,
        new_id=Chance(7).draws("scenario", "parts").uuid4,
        takes=0.0,
        channels=partial(channels, stack, clock),
    )
    scene = cast("ScenarioBackend", SimpleNamespace(channels=site.channels, wait=BROKER_SECONDS))
    messages = tuple(make_messages(scenario.workload, 7, START))
    since = control.last_event()
    clock.run_at(SPEED)
    for fault in scenario.faults:
        control.add_fault(fault)
    try:
        Turns(scenario, site, scene, OURS).run(messages)
    finally:
        site.close()
        control.change_clock(ClockChange("real"))
    found = [*events.since(0, events.last), *injected(control, since)]
    return compute_facts(Played(messages, tuple(found), control.stream(INPUT).shards))


def over_kinesis(stack: Stack, clock: Clock, name: str, checkpoints: Checkpoints | None) -> Channel:
    endpoint = Endpoint(stack.said["aws"], stack.said["region"], stack.said["token"])
    return KinesisChannel(endpoint.kinesis(), name, clock=clock, checkpoints=checkpoints)


def over_rabbitmq(stack: Stack, clock: Clock, name: str, _checkpoints: Checkpoints | None) -> Channel:
    return RabbitMQChannel(stack.said["amqp"], name, clock=clock)


def injected(control: Client, since: int) -> list[Event]:
    return [event for event in control.events(after=since, limit=1000) if event.kind == "fault.injected"]


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
