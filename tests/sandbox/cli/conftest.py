"""Commands run in this process against an emulator of the test's own, or as processes in a directory."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from emulator.assembly.embedded import Embedded, embedded
from emulator.settings.settings import Settings
from sandbox.cli import main
from tests.taken_out import needs


@dataclass(frozen=True)
class Ran:
    """What a command left: its exit code and what it said."""

    code: int
    out: str
    err: str


def needed_by(command: str) -> pytest.MarkDecorator:
    """The mark of a case with a command that an extension has."""
    owners = {"claim": "queues", "process": "processing", "topic": "topics", "lambda": "functions"}
    return needs(*[owners[command]] if command in owners else [])


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test has a working directory and an environment of its own."""
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.startswith("SANDBOX_"):
            monkeypatch.delenv(name)


@pytest.fixture
def sandbox(capfd: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Runs a command in this process."""

    def run(*arguments: str) -> Ran:
        code = main(arguments)
        return Ran(code, *capfd.readouterr())

    return run


@pytest.fixture
def emulator() -> Iterator[Embedded]:
    with embedded(Settings(aws_port=0, control_port=0, data_dir=None, seed=7)) as emulator:
        yield emulator


@pytest.fixture
def ask(emulator: Embedded, sandbox: Callable[..., Ran]) -> Callable[..., Ran]:
    """Runs a command against the test's emulator."""
    return lambda *arguments: sandbox(*arguments, "--control", emulator.control)


@pytest.fixture
def process(tmp_path: Path) -> Iterator[Callable[..., Ran]]:
    """Runs a command as a process; what it left running is stopped at the end."""

    def run(*arguments: str, stdin: str = "") -> Ran:
        command = [sys.executable, "-m", "sandbox", *arguments]
        ran = subprocess.run(command, capture_output=True, text=True, input=stdin, check=False, timeout=60)
        return Ran(ran.returncode, ran.stdout, ran.stderr)

    yield run
    if (tmp_path / ".sandbox" / "running.json").exists():
        run("down")
