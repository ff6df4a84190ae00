"""The kit can fail: each mutant fails its clause and no unrelated one. The right clients pass all."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from sandbox.certify.clause import Channel, Group, Role
from sandbox.certify.clauses import CLAUSES
from sandbox.certify.told_lines import matching_lines
from sandbox.certify.trial import certify
from tests.sandbox.certify.mutants import CONSUMERS, PRODUCERS
from tests.sandbox.certify.queue_mutants import QUEUE_CONSUMERS, QUEUE_PRODUCERS
from tests.sandbox.certify.trials import (
    CLIENTS,
    Mutant,
    build_trial,
    find_rules,
    judge_all,
    play_stages,
    python_trial,
    write_mutant,
)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def _failed(role: Role, mutant: Mutant, folder: Path, channel: Channel = Channel.KINESIS) -> set[str]:
    # A consumer of a queue that keeps what it has in hand is waited for five times as long.
    patience = 4.0 if channel is Channel.KINESIS else 2.0
    trial = python_trial(role, write_mutant(mutant, folder), patience=patience, channel=channel)
    history = play_stages(trial, mutant.stages)
    assert mutant.finds <= find_rules(history)
    return {name for name, each in judge_all(trial, history).items() if each.verdict == "fail"}


@pytest.mark.parametrize("mutant", CONSUMERS, ids=lambda mutant: mutant.clause)
def test_mutant_consumers_fail_their_clause(mutant: Mutant, tmp_path: Path) -> None:
    """A consumer that is wrong in one line fails the clause about it, and no unrelated one."""
    assert _failed(Role.CONSUMER, mutant, tmp_path) == mutant.fails


@pytest.mark.parametrize("mutant", PRODUCERS, ids=lambda mutant: mutant.clause)
def test_mutant_producers_fail_their_clause(mutant: Mutant, tmp_path: Path) -> None:
    """A producer that is wrong in one line fails the clause about it, and no unrelated one."""
    assert _failed(Role.PRODUCER, mutant, tmp_path) == mutant.fails


@pytest.mark.parametrize("mutant", QUEUE_CONSUMERS, ids=lambda mutant: mutant.clause)
def test_mutant_consumers_of_queues_fail_their_clause(mutant: Mutant, tmp_path: Path) -> None:
    """A consumer of RabbitMQ that is wrong in one line fails the clause about it, and no unrelated one."""
    assert _failed(Role.CONSUMER, mutant, tmp_path, Channel.RABBITMQ) == mutant.fails


@pytest.mark.parametrize("mutant", QUEUE_PRODUCERS, ids=lambda mutant: mutant.clause)
def test_mutant_producers_for_queues_fail_their_clause(mutant: Mutant, tmp_path: Path) -> None:
    """A producer for RabbitMQ that is wrong in one line fails the clause about it, and no unrelated one."""
    assert _failed(Role.PRODUCER, mutant, tmp_path, Channel.RABBITMQ) == mutant.fails


@pytest.mark.parametrize(
    ("role", "program", "groups"),
    [
        (Role.CONSUMER, "right_queue_consumer.py", {Group.DELIVERY}),
        (Role.CONSUMER, "contract_queue_consumer.py", set(Group)),
        (Role.PRODUCER, "right_queue_producer.py", set(Group)),
    ],
)
def test_right_clients_of_queues_pass(role: Role, program: str, groups: set[Group]) -> None:
    """A right client of RabbitMQ passes every clause: with pika alone, and with ``schemas``."""
    trial = python_trial(role, CLIENTS / program, channel=Channel.RABBITMQ)
    certificate, _ = certify(replace(trial, groups=frozenset(groups)), lambda _doing: None)
    assert (certificate.failed, certificate.missed) == ((), ())
    assert certificate.level == ("gold" if groups == set(Group) else "silver")


@pytest.mark.parametrize("seed", range(1, 4))
@pytest.mark.parametrize(
    ("role", "program", "groups"),
    [
        (Role.CONSUMER, "right_consumer.py", {Group.DELIVERY}),
        (Role.CONSUMER, "contract_consumer.py", set(Group)),
        (Role.CONSUMER, "receiver_consumer.py", set(Group)),
        (Role.PRODUCER, "right_producer.py", {Group.DELIVERY}),
        (Role.PRODUCER, "gateway_producer.py", set(Group)),
    ],
)
def test_right_clients_pass(role: Role, program: str, groups: set[Group], seed: int) -> None:
    """A right client, with boto3 alone or our own, passes every clause, and no rule of one finds anything.

    Rules about writers find what the kit itself publishes to a consumer that is to refuse it.
    """
    trial = replace(python_trial(role, CLIENTS / program), seed=seed, groups=frozenset(groups))
    certificate, history = certify(trial, lambda _doing: None)
    assert (certificate.failed, certificate.missed) == ((), ())
    rules = {rule.id for clause in CLAUSES if clause.role is role for rule in clause.rules}
    assert not find_rules(history) & rules
    assert certificate.level == ("gold" if groups == set(Group) else "silver")


def test_the_sandboxs_own_receiver_passes() -> None:
    """``sandbox receive`` passes every clause but the one on bodies, whose digests it does not tell."""
    command = 'cd "$SANDBOX_STATE_DIR" && exec "$0" -m sandbox receive --json --follow'
    trial = build_trial(Role.CONSUMER, "sh", "-c", command, sys.executable)
    told = matching_lines(r'"messageId": ?"([^"]+)"')
    certificate, _ = certify(
        replace(trial, client=trial.client._replace(read_line=told)), lambda _doing: None
    )
    left = {each.id: each.reason for each in certificate.clauses if each.verdict != "pass"}
    assert left == {"bodies-unaltered": "not-observable"}


def test_every_clause_has_a_mutant() -> None:
    """No clause is without a client that fails it; one of both channels may have its mutant on either."""
    mutants = {
        (Role.CONSUMER, Channel.KINESIS): CONSUMERS,
        (Role.PRODUCER, Channel.KINESIS): PRODUCERS,
        (Role.CONSUMER, Channel.RABBITMQ): QUEUE_CONSUMERS,
        (Role.PRODUCER, Channel.RABBITMQ): QUEUE_PRODUCERS,
    }
    failed = {(role, channel, mutant.clause) for (role, channel), each in mutants.items() for mutant in each}
    without = [
        (each.role, each.id)
        for each in CLAUSES
        if not any((each.role, channel, each.id) in failed for channel in each.channels)
    ]
    assert without == []
