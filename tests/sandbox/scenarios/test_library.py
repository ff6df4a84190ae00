"""The scenarios of the library: ours passes each, and each has failed a client that does it wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sandbox.cli import main
from sandbox.judging.verdict import Verdict
from sandbox.scenarios.backend import Amqp
from sandbox.scenarios.facts import compute_facts
from sandbox.scenarios.judgement import ScenarioJudgement, judge_facts
from sandbox.scenarios.play import play
from sandbox.scenarios.scenario import library
from sandbox.scenarios.scenario_client import Client
from tests.extensions.parts import PARTS
from tests.sandbox.scenarios import wrong_clients as wrong

LIBRARY = library()
NAMED_IN_THE_ISSUE = {
    "happy-path", "producer-retry", "redelivery-after-a-crash", "split-under-load", "merge-under-load",
    "scale-1-8-2", "sequence-across-a-reshard", "oversize", "throttled-producer", "partial-failure",
    "poison-message", "expired-message", "slow-consumer", "broker-gone-for-a-minute",
}  # fmt: skip
MISTAKES = {
    "reads the first shard only": ("happy-path", wrong.FIRST_SHARD_ONLY, "lost"),
    "keeps no messageIds": ("producer-retry", wrong.FORGETS, "twice"),
    "knows messages by sequence number": ("producer-retry", wrong.KNOWS_SEQUENCE_NUMBERS, "twice"),
    "commits before it works": ("redelivery-after-a-crash", wrong.COMMITS_FIRST, "lost"),
    "works outside a transaction": ("redelivery-after-a-crash", wrong.NO_TRANSACTION, "twice"),
    "ignores a split's children": ("split-under-load", wrong.knows_no_children(2), "lost"),
    "ignores a merge's child": ("merge-under-load", wrong.knows_no_children(4), "lost"),
    "keeps its first list of shards": ("scale-1-8-2", wrong.knows_no_children(1), "lost"),
    "joins parts as they come": ("sequence-across-a-reshard", wrong.JOINS_AS_THEY_COME, "lost"),
    "never splits": ("oversize", wrong.NEVER_SPLITS, "lost"),
    "does not look at the size": ("oversize", wrong.JUDGES_NOTHING, "misjudged"),
    "gives up when throttled": ("throttled-producer", wrong.GIVES_UP_ON_THROTTLE, "lost"),
    "looks at the call's status only": ("partial-failure", wrong.LOOKS_AT_THE_CALL_ONLY, "lost"),
    "sends a whole batch again": ("partial-failure", wrong.SENDS_THE_BATCH_AGAIN, "repeated"),
    "dies of a bad message": ("poison-message", wrong.DIES_OF_POISON, "lost"),
    "skips a bad message in silence": ("poison-message", wrong.SKIPS_POISON, "lost"),
    "does not look at the time": ("expired-message", wrong.JUDGES_NOTHING, "misjudged"),
    "jumps to the newest": ("slow-consumer", wrong.SKIPS_THE_OLD, "lost"),
    "tries three times": ("broker-gone-for-a-minute", wrong.THREE_TRIES, "lost"),
    "has no code for what fails": ("failing-applications", wrong.JUDGES_NOTHING, "misjudged"),
    "keeps no messageIds, answers lost": ("answer-lost", wrong.FORGETS, "twice"),
} | {name: mistake for part in PARTS for name, mistake in part.mistakes.items()}
"""What a client does wrong: the scenario that finds it, the client, and the fact that tells."""


def judged(
    name: str, folder: Path, client: Client | None = None, seed: int = 7, kind: str = "memory"
) -> ScenarioJudgement:
    scenario = LIBRARY[name]
    return judge_facts(scenario, compute_facts(play(scenario, folder, seed=seed, kind=kind, client=client)))


def broken(judgement: ScenarioJudgement) -> dict[str, str]:
    return {line.claim: line.observed for line in judgement.lines if line.holds is False}


def test_every_scenario_that_was_promised_is_there() -> None:
    """The bad days of the plan are in the library, by name."""
    assert set(LIBRARY) >= NAMED_IN_THE_ISSUE


@pytest.mark.parametrize("seed", [7, 20_261_121])
@pytest.mark.parametrize("name", LIBRARY)
def test_our_client_passes(name: str, seed: int, tmp_path: Path) -> None:
    """The gateway and the receiver get through every bad day, and every fault of it struck."""
    judgement = judged(name, tmp_path, seed=seed)
    assert judgement.verdict is Verdict.PASS, [line for line in judgement.lines if not line.holds]


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_client_that_does_it_wrong_fails(mistake: str, tmp_path: Path) -> None:
    """A scenario finds the mistake that it is about, and says so in the fact that it is about."""
    name, client, fact = MISTAKES[mistake]
    judgement = judged(name, tmp_path, client)
    assert judgement.verdict is Verdict.FAIL
    assert fact in broken(judgement), judgement.facts


def test_every_scenario_has_failed_somebody() -> None:
    """A scenario that no client has been seen to fail proves nothing, and does not ship."""
    assert {name for name, _, _ in MISTAKES.values()} == set(LIBRARY)


@pytest.mark.parametrize("name", ["scale-1-8-2", "partial-failure", "expired-message"])
def test_the_same_over_kinesis(name: str, tmp_path: Path) -> None:
    """Through boto3 and the AWS port the same becomes of the same messages."""
    over_kinesis = judged(name, tmp_path, kind="kinesis")
    assert over_kinesis.verdict is Verdict.PASS, broken(over_kinesis)


@pytest.mark.parametrize("amqp", ["embedded", pytest.param("server", marks=pytest.mark.rabbitmq)])
def test_the_same_over_rabbitmq(tmp_path: Path, amqp: Amqp) -> None:
    """Our own broker, or RabbitMQ, delivers again what a dead consumer had in its hands."""
    name = "redelivery-after-a-crash"
    played = play(LIBRARY[name], tmp_path, seed=7, kind="rabbitmq", amqp=amqp)
    over_rabbitmq = judge_facts(LIBRARY[name], compute_facts(played))
    assert over_rabbitmq.verdict is Verdict.PASS, broken(over_rabbitmq)


def test_a_server_is_used_where_one_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As for ``sandbox up``: our own broker, installed or not; SANDBOX_AMQP=server has the one installed."""
    monkeypatch.setattr("emulator.rabbitmq.broker_process._ADMINISTRATORS", ())
    monkeypatch.setenv("PATH", str(tmp_path))
    asked = ["scenario", "run", "happy-path", "--channel", "rabbitmq", "--json", "--runs", str(tmp_path)]
    monkeypatch.setenv("SANDBOX_AMQP", "server")
    assert main(asked) != 0
    (unplayed,) = json.loads(capsys.readouterr().out)["scenarios"]
    assert unplayed["note"].startswith("no rabbitmq-server was found\nDebian, Ubuntu: ")
    (tmp_path / "rabbitmq-server").write_text("#!/bin/sh\nexit 1\n")
    for name in ("rabbitmq-server", "erl", "epmd"):
        (tmp_path / name).touch(mode=0o755)
    monkeypatch.delenv("SANDBOX_AMQP")
    assert main(asked) == 0
