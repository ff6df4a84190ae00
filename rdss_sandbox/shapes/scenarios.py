"""Scenarios as the control API shows them, and the runs that were begun through it."""

from __future__ import annotations

from typing import Literal

import msgspec

from rdss_sandbox.shapes.faults import NewFault

RunState = Literal["running", "done", "failed"]


class Teaching(msgspec.Struct, frozen=True):
    """What to say to those who watch: what happens, why it does, what a correct client does."""

    happens: str = ""
    why: str = ""
    client: str = ""


class Scenario(msgspec.Struct, frozen=True):
    """A scenario of the library; ``expect`` says what must hold of each fact."""

    name: str
    title: str
    teach: Teaching
    faults: tuple[NewFault, ...]
    expect: dict[str, int | float | str]


class ScenarioList(msgspec.Struct, frozen=True):
    """The scenarios, in the order in which they teach."""

    scenarios: tuple[Scenario, ...]


class NewRun(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A scenario to play; a seed is drawn when left out."""

    scenario: str
    seed: int | None = None
    channel: Literal["memory", "kinesis", "rabbitmq"] = "memory"


class Line(msgspec.Struct, frozen=True):
    """A claim of a verdict: what must be beside what was; ``holds`` is None where nothing can be said."""

    claim: str
    expected: str
    observed: str
    holds: bool | None


class ScenarioRun(msgspec.Struct, frozen=True):
    """A run of a scenario; ``events`` counts them, ``problem`` says why it has no verdict.

    ``verdict`` is pass, fail or inconclusive, and empty until it is done; ``folder`` is where the run lies on
    the machine of the sandbox, ``command`` what plays it again.
    """

    id: int
    scenario: str
    title: str
    seed: int
    channel: str
    state: RunState
    verdict: str = ""
    events: int = 0
    folder: str = ""
    command: str = ""
    problem: str = ""


class ScenarioRunDetail(ScenarioRun, frozen=True):
    """A run with what it teaches and every line of its verdict."""

    teach: Teaching = Teaching()
    lines: tuple[Line, ...] = ()


class ScenarioRuns(msgspec.Struct, frozen=True):
    """The runs begun here, the newest first."""

    runs: tuple[ScenarioRun, ...]
