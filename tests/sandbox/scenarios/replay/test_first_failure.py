"""What a replay opens at: for each client that does it wrong, where it went wrong and what made it."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.scenarios.facts import CONTRACT, compute_facts, find_culprits
from sandbox.scenarios.judgement import judge_facts
from sandbox.scenarios.play import play
from sandbox.scenarios.replay.first_failure import find_first_failure
from sandbox.scenarios.replay.replay_steps import fold_events
from sandbox.scenarios.scenario import library
from sandbox.scenarios.scenario_client import Client
from tests.sandbox.scenarios.test_library import MISTAKES

FIRST = {
    "reads the first shard only": ("message.offered", "message.delivered"),
    "keeps no messageIds": ("duplicate", "message.processed"),
    "knows messages by sequence number": ("duplicate", "message.processed"),
    "commits before it works": ("kill", "receiver.crashed"),
    "works outside a transaction": ("kill", "message.processed"),
    "ignores a split's children": ("reshard", "message.delivered"),
    "ignores a merge's child": ("reshard", "message.delivered"),
    "keeps its first list of shards": ("reshard", "message.delivered"),
    "joins parts as they come": ("latency", "message.delivered"),
    "never splits": ("oversize", "message.refused"),
    "does not look at the size": ("oversize", "message.processed"),
    "gives up when throttled": ("throttle", "message.refused"),
    "looks at the call's status only": ("partial_failure", "message.refused"),
    "sends a whole batch again": ("partial_failure", "message.delivered"),
    "dies of a bad message": ("message.offered", "message.processed"),
    "skips a bad message in silence": ("message.offered", "message.delivered"),
    "does not look at the time": ("message.offered", "message.processed"),
    "has no code for what fails": ("message.offered", "message.processed"),
    "jumps to the newest": ("message.offered", "message.delivered"),
    "tries three times": ("disconnect", "message.refused"),
    "works on what it no longer holds": ("queue.claim_expired", "message.processed"),
    "remembers only what it did itself": ("duplicate", "message.processed"),
    "claims for half a day": ("kill", "receiver.crashed"),
    "keeps no messageIds, answers lost": ("error", "message.processed"),
}
"""For each mistake: the cause, a fault by its type, and the kind of the step that made the verdict fail."""
FAULTS = {
    "producer-retry": ("duplicate", {"message.delivered"}),
    "redelivery-after-a-crash": ("kill", {"receiver.crashed", "receiver.started", "message.delivered"}),
    "split-under-load": ("reshard", {"stream.resharded"}),
    "scale-1-8-2": ("reshard", {"stream.resharded"}),
    "oversize": ("oversize", {"message.rejected"}),
    "throttled-producer": ("throttle", {"message.refused"}),
    "expired-message": ("pause", {"message.rejected"}),
    "broker-gone-for-a-minute": ("disconnect", {"message.refused"}),
    "claim-expires": ("pause", {"queue.claim_expired", "delete.refused", "message.delivered"}),
    "late-release": ("kill", {"receiver.crashed"}),
}


def opened_at(
    name: str, folder: Path, client: Client | None = None
) -> tuple[str, str, set[str], tuple[str, ...]]:
    """The cause, the kind of the wrong step, the kinds of the effects, the claims that fail by it."""
    scenario = library()[name]
    played = play(scenario, folder, seed=7, client=client)
    facts, culprits = compute_facts(played), find_culprits(played)
    # Each lost, repeated, altered or misjudged message is known by name.
    assert {fact: len(names) for fact, names in culprits.items()} == {fact: facts[fact] for fact in CONTRACT}
    steps = fold_events(played.events)
    found = find_first_failure(steps, judge_facts(scenario, facts).lines, culprits)
    assert found is not None
    cause = steps[found.cause]
    assert cause.event is not None
    why = str(cause.event.fields["type"]) if cause.kind == "fault.injected" else cause.kind
    return why, steps[found.wrong].kind, {steps[index].kind for index in found.effects}, found.fails


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_found_with_its_cause(mistake: str, tmp_path: Path) -> None:
    """The step at which the claim was broken, and the fault, reshard or message that the client got wrong."""
    name, client, fact = MISTAKES[mistake]
    cause, wrong, _, fails = opened_at(name, tmp_path, client)
    assert (cause, wrong) == FIRST[mistake]
    assert fact in fails or set(fails) & set(CONTRACT)


@pytest.mark.parametrize("name", [name for name in FAULTS if name in library()])
def test_a_fault_that_was_survived_is_shown_with_what_it_did(name: str, tmp_path: Path) -> None:
    """Where the verdict is a pass, the first fault, and the steps that it led to."""
    cause, wrong, effects, fails = opened_at(name, tmp_path)
    assert (cause, effects) == FAULTS[name]
    assert wrong == "fault.injected"
    assert fails == ()


def test_nothing_is_found_where_nothing_went_wrong(tmp_path: Path) -> None:
    played = play(library()["happy-path"], tmp_path, seed=7)
    assert find_first_failure(fold_events(played.events), (), find_culprits(played)) is None
