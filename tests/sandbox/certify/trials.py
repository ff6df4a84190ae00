"""Clients of this folder, right ones and mutants, and short trials of them."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

from emulator.diagnosis.diagnosis import diagnose
from sandbox.certify.attempt import Client
from sandbox.certify.certificate import ClauseResult, judge_clauses
from sandbox.certify.clause import Channel, Group, Role
from sandbox.certify.clauses import clauses
from sandbox.certify.history import History, Level
from sandbox.certify.stages import stages
from sandbox.certify.told_lines import json_lines
from sandbox.certify.trial import Trial, play

CLIENTS: Final = Path(__file__).parent / "clients"
_FIELDS: Final = {Role.CONSUMER: "processed", Role.PRODUCER: "sent"}


class Mutant(NamedTuple):
    """A client that is one line away from a right one: where, what, and every clause that it fails.

    ``stages`` are those that show it; the others would take time and tell the same. ``finds`` has the
    rules of the diagnosis that see it too.
    """

    clause: str
    client: str
    old: str
    new: str
    stages: tuple[str, ...]
    fails: frozenset[str]
    finds: frozenset[str] = frozenset()


def build_trial(role: Role, *command: str, patience: float = 8.0, seed: int = 1) -> Trial:
    """A trial of a command with the delivery and contract groups, up to gold."""
    client = Client(command, json_lines(_FIELDS[role]), patience)
    return Trial(role, client, seed, Level.GOLD, frozenset(Group), shrinking=False)


def play_stages(trial: Trial, names: tuple[str, ...]) -> History:
    """Play some stages; return what happened."""
    every = stages(trial.role, trial.level, trial.groups, trial.channel)
    return play(trial, [each for each in every if each.name in names], lambda _doing: None)


def judge_all(trial: Trial, history: History) -> dict[str, ClauseResult]:
    """Judge a run by all clauses; return the results by clause."""
    wanted = clauses(trial.role, channel=trial.channel)
    results, _ = judge_clauses(wanted, history, trial.command)
    return {each.id: each for each in results}


def find_rules(history: History) -> set[str]:
    """The ids of the rules of the diagnosis that find something in a run."""
    if history.recorded is None:
        return set()
    found = diagnose(history.recorded).findings
    return {each.rule for each in found if each.stream == history.stream}


def write_mutant(mutant: Mutant, folder: Path) -> Path:
    """Write the mutant's program; it must differ from the right one in exactly one place."""
    text = (CLIENTS / mutant.client).read_text(encoding="utf-8")
    assert text.count(mutant.old) == 1, f"{mutant.old!r} is {text.count(mutant.old)} times in {mutant.client}"
    program = folder / mutant.client
    program.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
    return program


def python_trial(
    role: Role, program: Path, *, patience: float = 8.0, channel: Channel = Channel.KINESIS
) -> Trial:
    """A trial of a Python program with this interpreter."""
    trial = build_trial(role, sys.executable, str(program), patience=patience)
    return replace(trial, channel=channel)
