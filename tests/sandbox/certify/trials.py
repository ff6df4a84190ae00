"""Clients of this folder, and short trials of them."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Final

from emulator.diagnosis.diagnosis import diagnose
from rdss_sandbox.shapes.certificate import ClauseResult
from sandbox.certify.attempt import Client
from sandbox.certify.clause import Group, Role
from sandbox.certify.clause_verdicts import judge_clauses
from sandbox.certify.clauses import clauses
from sandbox.certify.history import History, Level
from sandbox.certify.stages import stages
from sandbox.certify.told_lines import json_lines
from sandbox.certify.trial import Trial, play

CLIENTS: Final = Path(__file__).parent / "clients"
_FIELDS: Final = {Role.CONSUMER: "processed", Role.PRODUCER: "sent"}


def build_trial(role: Role, *command: str, patience: float = 8.0, seed: int = 1) -> Trial:
    """A trial of a command with the delivery and contract groups, up to gold."""
    client = Client(command, json_lines(_FIELDS[role]), patience)
    return Trial(role, client, seed, Level.GOLD, frozenset(Group))


def play_stages(trial: Trial, names: tuple[str, ...]) -> History:
    """Play some stages; return what happened."""
    every = stages(trial.certified.stages[trial.role], trial.level, trial.groups, trial.clauses)
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


def python_trial(role: Role, program: Path, *, patience: float = 8.0, channel: str = "kinesis") -> Trial:
    """A trial of a Python program with this interpreter."""
    trial = build_trial(role, sys.executable, str(program), patience=patience)
    return replace(trial, channel=channel)
