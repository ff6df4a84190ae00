"""Scenarios and their runs, as the control API shows them."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from rdss_sandbox.shapes.faults import NewFault

RunState = Literal["running", "done", "failed"]


class Teaching(msgspec.Struct, frozen=True):
    """What a scenario teaches: what happens, why it happens, and what a correct client does."""

    happens: str = ""
    why: str = ""
    client: str = ""


class Scenario(msgspec.Struct, frozen=True):
    """A scenario of the library; ``expect`` has the expected value of each fact."""

    name: str
    title: str
    teach: Teaching
    faults: tuple[NewFault, ...]
    expect: dict[str, int | float | str]


class ScenarioList(msgspec.Struct, frozen=True):
    """The scenarios in teaching order."""

    scenarios: tuple[Scenario, ...]


class NewRun(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A scenario to play. A random ``seed`` is drawn by default; ``channel`` is a kind."""

    scenario: Annotated[str, msgspec.Meta(examples=["happy-path"])]
    seed: int | None = None
    channel: str = "memory"


class Line(msgspec.Struct, frozen=True):
    """A claim of a verdict with its expected and observed value. ``holds`` is None where it is undecided."""

    claim: str
    expected: str
    observed: str
    holds: bool | None


class ScenarioRun(msgspec.Struct, frozen=True):
    """A run of a scenario. ``events`` is their number; ``problem`` says why a failed run has no verdict.

    ``verdict`` is pass, fail or inconclusive, and empty until the run is done. ``folder`` holds the recorded
    run on the sandbox's machine. ``command`` is the command line that plays it again.
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
    """A run with its teaching text and every claim of its verdict."""

    teach: Teaching = Teaching()
    lines: tuple[Line, ...] = ()


class ScenarioRuns(msgspec.Struct, frozen=True):
    """The runs that the control API started, newest first."""

    runs: tuple[ScenarioRun, ...]
