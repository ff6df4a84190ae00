"""A finished run: its inputs, its judgement, and the command that repeats it."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

import msgspec

from emulator.faults.fault import Kind
from rdss_sandbox.shapes.events import Event
from sandbox.scenarios.facts import Culprits
from sandbox.scenarios.judgement import Judgement
from sandbox.scenarios.scenario import Scenario


class Report(StrEnum):
    """A report that a run can write besides its summary."""

    JUNIT = "junit"
    HTML = "html"
    NDJSON = "ndjson"


@dataclass(frozen=True, slots=True)
class Run:
    """A finished run. ``source`` is the scenario's name in the library, or its file.

    ``culprits`` are the messageIds behind the facts of the contract.
    """

    scenario: Scenario
    source: str
    seed: int
    kind: Kind
    judgement: Judgement
    events: tuple[Event, ...]
    folder: Path
    culprits: Culprits = field(default_factory=dict)

    @property
    def command(self) -> str:
        """The shell command that repeats the run."""
        words = ["sandbox", "scenario", "run", self.source, "--seed", str(self.seed)]
        if self.kind is not Kind.MEMORY:
            words += ["--channel", self.kind.value]
        return shlex.join(words)

    def summary(self) -> dict[str, Any]:
        """The summary for programs; apart from the folder, it is the same for the same seed."""
        return {
            "name": self.scenario.name,
            "title": self.scenario.title,
            "verdict": self.judgement.verdict.value,
            "seed": self.seed,
            "channel": self.kind.value,
            "facts": self.judgement.facts,
            "lines": [msgspec.to_builtins(line) for line in self.judgement.lines],
            "note": self.judgement.note,
            "command": self.command,
            "folder": str(self.folder),
        }
