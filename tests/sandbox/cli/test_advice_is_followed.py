"""Every command that a message advises is typed, and does what it says or says why not."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

from emulator.assembly.embedded import Embedded
from sandbox.cli.sandbox_command import sandbox as group
from schemas.rdss.envelope import serialise
from schemas.rdss.samples import Samples
from tests.sandbox.cli.conftest import needed_by
from tests.sandbox.cli.test_advice import COMMANDS, ROOT, advised

TYPED = {
    "claim": ["claim error"],
    "claim list": ["claim list error"],
    "claim release": ["claim release error 51db6f78c508f17ddc924357"],
    "clock advance": ["clock advance 6m"],
    "clock freeze": ["clock freeze"],
    "clock real": ["clock real"],
    "clock speed": ["clock speed 1"],
    "diagnose": ["diagnose"],
    "doctor": ["doctor", "doctor sandbox"],
    "fault add": ["fault add duplicate --toxicity 0.5", "fault add --help", "fault add latency --help"],
    "certify list": ["certify list"],
    "fault list": ["fault list"],
    "fault remove": ["fault add corrupt", "fault remove corrupt"],
    "message sample": ["message sample --count 10"],
    "message validate": ["message validate one.json"],
    "process list": ["process list --state OK"],
    "process send": ["process send metadata create {}"],
    "process cancel": ["process cancel 1"],
    "process restart": ["process restart 1"],
    "readers": ["readers"],
    "receive": ["receive"],
    "reset": ["reset"],
    "reshard split": ["reshard split input"],
    "reshard merge": ["reshard merge input"],
    "reshard scale": ["reshard scale input 4"],
    "scenario list": ["scenario list"],
    "send": ["send one.json --channel input"],
    "status": ["status"],
    "topic subscribe": ["topic subscribe objects --timeout 1s"],
}
"""What is typed for each command that is advised, with something in the place of what a message fills in."""
ELSEWHERE = {
    "completion": "tests/sandbox/cli/test_completion.py",
    "events": "tests/sandbox/cli/test_wait.py",
    "man": "tests/sandbox/cli/test_completion.py",
    "run": "tests/sandbox/cli/test_run.py",
    "env": "tests/sandbox/cli/test_tls.py",
    "wait": "tests/sandbox/cli/test_wait.py",
    "adaptor run": "tests/sandbox/cli/test_applications.py",
    "contract check": "tests/sandbox/cli/test_contract.py",
    "demo": "tests/sandbox/cli/test_demo.py",
    "down": "tests/sandbox/cli/test_up.py",
    "files": "tests/sandbox/cli/test_applications.py",
    "image": "tests/compose/test_container.py",
    "learn check": "tests/sandbox/cli/test_learn.py",
    "learn hint": "tests/sandbox/cli/test_learn.py",
    "learn list": "tests/sandbox/cli/test_learn.py",
    "learn reset": "tests/sandbox/cli/test_learn.py",
    "learn solution": "tests/sandbox/cli/test_learn.py",
    "learn start": "tests/sandbox/cli/test_learn.py",
    "logs": "tests/sandbox/cli/test_up.py",
    "messages": "tests/sandbox/cli/test_sandbox_command.py",
    "pipeline query": "tests/sandbox/pipeline/test_questions.py",
    "pipeline run": "tests/sandbox/pipeline/test_command.py",
    "prune": "tests/docs/test_pages.py",
    "repair": "tests/sandbox/cli/test_repair.py",
    "replay": "tests/sandbox/scenarios/test_run.py",
    "scenario run": "tests/sandbox/scenarios/test_run.py",
    "snapshot save": "tests/sandbox/cli/test_snapshot.py",
    "tui": "tests/tui/test_in_a_terminal.py",
    "up": "tests/sandbox/cli/test_up.py",
    "watch": "tests/sandbox/cli/test_watch.py",
}
"""Where the tests are of those that start something, or take long."""
Ask = Callable[..., Any]


def command_of(line: str) -> str:
    """The command and subcommand that a line names; "" where it names a group alone."""
    words = re.split(r"[.,;:)]+(?:\s|$)", line)[0].split()
    command: click.Command | None = group
    path: list[str] = []
    while isinstance(command, click.Group) and words:
        found = command.get_command(click.Context(command), words[0])
        if found is None:
            break
        path.append(words.pop(0))
        command = found
    bare = isinstance(command, click.Group) and not command.invoke_without_command and len(path) < 2
    return "" if bare and path[0] not in {"claim", "fault"} else " ".join(path)


def test_every_advised_command_is_typed_somewhere() -> None:
    """A message that advises another one needs a line here."""
    named = {command_of(line) for _, line in advised()} - {"", "fault"}
    typed = {"fault add" if each.startswith("fault add") else each for each in named}
    assert typed <= TYPED.keys() | ELSEWHERE.keys()
    assert [place for place in ELSEWHERE.values() if not (ROOT / place).is_file()] == []


@pytest.mark.parametrize(
    "name",
    [pytest.param(each, marks=needed_by(each.split()[0])) for each in sorted(TYPED)],
)
def test_what_is_advised_can_be_typed(
    sandbox: Ask, emulator: Embedded, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is understood, ends, and has something to say; a claim or message that is not there is named."""
    assert name.split(maxsplit=1)[0] in COMMANDS
    Path("one.json").write_bytes(serialise(Samples(1).message()))
    monkeypatch.setenv("SANDBOX_CONTROL", emulator.control)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    for line in TYPED[name]:
        ran = sandbox(*line.split())
        assert "Traceback" not in ran.err
        assert "see sandbox" not in ran.err, ran.err
        assert ran.code == 0 or ran.err, line
