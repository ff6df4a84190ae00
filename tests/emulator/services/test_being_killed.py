"""What moto's services acknowledged survives kill -9 at any instant, under a load on all of them at once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from emulator.rng import Chance
from rdss_sandbox.process import RunningSandbox, sandbox_process
from tests.emulator.services.load import read_everything

ROOT = Path(__file__).parents[3]
SEED = 20_261_122
FEW, MANY = 3, 200
LEAST_LINES, MOST_LINES = 20, 200


class Expected:
    """What must be there: of each key the value acknowledged last, or one asked for later."""

    def __init__(self) -> None:
        self.done: dict[str, dict[str, str | None]] = {}
        self.asked: dict[str, dict[str, list[str | None]]] = {}

    def take(self, line: str) -> None:
        word, service, key, value = json.loads(line)
        asked = self.asked.setdefault(service, {}).setdefault(key, [])
        if word == "asked":
            asked.append(value)
        else:
            asked.clear()
            self.done.setdefault(service, {})[key] = value

    def compare(self, found: dict[str, dict[str, str | None]]) -> list[str]:
        """What is not as it must be; what was found becomes what must be there."""
        wrong = []
        for service, has in found.items():
            done, asked = self.done.setdefault(service, {}), self.asked.get(service, {})
            for key in done.keys() | asked.keys() | has.keys():
                allowed = [done.get(key), *asked.get(key, ())]
                if service in {"sqs", "sns"}:
                    allowed = [value and key for value in allowed] if service == "sns" else allowed
                if has.get(key) not in allowed:
                    wrong.append(f"{service} {key}: {has.get(key)}, not one of {allowed}")
            self.done[service] = dict(has)
            self.asked[service] = {}
        return wrong


def load_until_killed(sandbox: RunningSandbox, seed: int, lines: int, expected: Expected) -> int:
    """Load the sandbox, kill it after so many lines, and return how many things were acknowledged."""
    command = [sys.executable, "-m", "tests.emulator.services.load", sandbox.aws, str(seed)]
    acknowledged = 0
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        for number, line in enumerate(process.stdout):
            if number == lines:
                os.kill(sandbox.pid, signal.SIGKILL)
            expected.take(line)
            acknowledged += line.startswith('["done"')
    return acknowledged


def survive(directory: Path, deaths: int, *options: str) -> None:
    draws = Chance(SEED).draws("deaths")
    expected = Expected()
    acknowledged = 0
    for death in range(deaths):
        with sandbox_process("--data-dir", str(directory), *options) as sandbox:
            if death:
                assert expected.compare(read_everything(sandbox.aws)) == [], f"after death {death}"
            lines = draws.randrange(LEAST_LINES, MOST_LINES)
            acknowledged += load_until_killed(sandbox, SEED + death, lines, expected)
    with sandbox_process("--data-dir", str(directory), *options) as sandbox:
        assert expected.compare(read_everything(sandbox.aws)) == []
    assert acknowledged > deaths * LEAST_LINES / 4


def test_a_few_deaths(tmp_path: Path) -> None:
    survive(tmp_path, FEW)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_two_hundred_deaths(tmp_path: Path) -> None:
    survive(tmp_path, MANY)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_deaths_with_fsync(tmp_path: Path) -> None:
    survive(tmp_path, FEW, "--fsync")
