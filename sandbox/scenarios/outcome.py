"""A finished run: its inputs, its judgement, and the command that repeats it."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

import msgspec

from rdss_sandbox.shapes.events import Event
from sandbox.scenarios.facts import Culprits
from sandbox.scenarios.judgement import ScenarioJudgement
from sandbox.scenarios.scenario import Scenario
from schemas.bound import CONTRACT

CODES: Final = {name: code.description for name, code in CONTRACT.codes.items()}
"""What each error code means: a recorded run is told without the sandbox that it ran in."""
PATIENCE_SECONDS: Final = 8.0
"""How long a command may ask and get nothing new before what is missing is given up."""


class ReportKind(StrEnum):
    """A report that a run can write besides its summary."""

    JUNIT = "junit"
    HTML = "html"
    NDJSON = "ndjson"


class Against(msgspec.Struct, frozen=True):
    """The command that a scenario is played against instead of our receiver.

    ``processed`` is the regular expression that finds a messageId in a line of its output; None for lines of
    JSON. ``patience`` is in seconds, see ``sandbox.certify.silence``.
    """

    command: tuple[str, ...]
    processed: str | None = None
    patience: float = PATIENCE_SECONDS

    @property
    def words(self) -> list[str]:
        """The options of the command line that repeats a run against it."""
        words = [] if self.processed is None else ["--processed", self.processed]
        words += [] if self.patience == PATIENCE_SECONDS else ["--patience", f"{self.patience:g}s"]
        return [*words, "--client", "--", *self.command]


@dataclass(frozen=True, slots=True)
class Run:
    """A finished run. ``source`` is the scenario's name in the library, or its file.

    ``culprits`` are the messageIds behind the facts of the contract.
    """

    scenario: Scenario
    source: str
    seed: int
    kind: str
    judgement: ScenarioJudgement
    events: tuple[Event, ...]
    folder: Path
    culprits: Culprits = field(default_factory=dict)
    against: Against | None = None

    @property
    def command(self) -> str:
        """The shell command that repeats the run."""
        words = ["sandbox", "scenario", "run", self.source, "--seed", str(self.seed)]
        if self.against is not None:
            words += self.against.words
        elif self.kind != "memory":
            words += ["--channel", self.kind]
        return shlex.join(words)

    def summary(self) -> dict[str, Any]:
        """The summary for programs; apart from the folder, it is the same for the same seed.

        A run against a command has ``client``, and what cannot be seen of it; its facts depend on the
        command.
        """
        judgement = self.judgement
        document: dict[str, Any] = {
            "not_observable": dict(judgement.not_observable),
            "remarks": list(judgement.remarks),
        }
        against = {} if self.against is None else {"client": msgspec.to_builtins(self.against), **document}
        return against | {
            "name": self.scenario.name,
            "title": self.scenario.title,
            "verdict": self.judgement.verdict.value,
            "seed": self.seed,
            "channel": self.kind,
            "facts": self.judgement.facts,
            "lines": [msgspec.to_builtins(line) for line in self.judgement.lines],
            "codes": CODES,
            "note": self.judgement.note,
            "command": self.command,
            "folder": str(self.folder),
        }
