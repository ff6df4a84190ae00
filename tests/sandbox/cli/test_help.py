"""The command line before anything runs: help, speed, mistakes."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

from emulator.faults.registry import TYPES
from sandbox.cli.command_table import COMMANDS
from sandbox.cli.sandbox_command import sandbox as group

HEAVY = {"pyspark", "textual", "moto", "boto3", "botocore", "pandas", "pyarrow", "docker", "httpx", "asyncio"}
STARTS = {"importlib.metadata", "logging", "pathlib"}
"""Of the standard library; each takes a tenth of the time that the list of commands has."""


def loaded_by(*arguments: str) -> set[str]:
    """The modules that a command has imported at its end."""
    program = "import sys; from sandbox.cli import main; main(sys.argv[1:]); print('|', *sys.modules)"
    command = [sys.executable, "-c", program, *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    return set(ran.stdout.rpartition("|")[2].split())


@pytest.mark.parametrize(
    "arguments", [["--help"], ["up", "--help"], ["status", "--help"], ["message", "--help"]]
)
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    """Help comes at once because nothing that takes long is imported for it."""
    assert loaded_by(*arguments) & HEAVY == set()


def test_the_list_of_commands_loads_little() -> None:
    """It is what a person types most, and waits for."""
    assert loaded_by("--help") & STARTS == set()


def test_help_costs_less_than_three_tenths_of_a_second() -> None:
    """Measured as processor time, which a busy machine does not stretch; the best of three."""

    def seconds() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            [sys.executable, "-m", "sandbox", "--help"], check=True, capture_output=True, timeout=60
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime

    assert min(seconds() for _ in range(3)) < 0.3


def test_help_lists_every_command_with_its_line(sandbox: Callable[..., Any]) -> None:
    """The table of commands is the help."""
    ran = sandbox("--help")

    assert ran.code == 0
    for name, row in COMMANDS.items():
        assert name in ran.out
        assert row.help.split()[0] in ran.out


@pytest.mark.parametrize("name", COMMANDS)
def test_every_row_of_the_table_leads_to_a_command(name: str) -> None:
    """No row is stale: the command is there, under that name, with a help text of its own."""
    command = group.get_command(click.Context(group), name)

    assert command is not None
    assert command.name == name
    assert command.help


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["frobnicate"], "No such command 'frobnicate'"),
        (["up", "--colour", "blue"], "No such option"),
        (["up", "--aws-port", "many"], "not a whole number"),
        (["up", "--aws-port", "70000"], "aws_port is 70000"),
        (["up", "--topology", "nowhere.yaml"], "no topology 'nowhere.yaml'"),
        (["reshard", "scale", "input"], "Missing argument"),
        (["statsu"], "Did you mean 'status'?"),
        (["clock", "freze"], "Did you mean 'freeze'?"),
        (["up", "--detatch"], "Did you mean '--detach'?"),
        (["fault", "add", "latncy"], "Did you mean 'latency'?"),
        (["fault", "add", "flood"], f"There is no type of fault 'flood'; there are: {', '.join(TYPES)}"),
        (["fault", "remove"], "names of the faults"),
        (["clock", "advance", "soon"], "is not a length of time"),
        (["clock", "set", "soon"], "is not a time"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(
    sandbox: Callable[..., Any], arguments: list[str], said: str
) -> None:
    """What was wrong, and nothing else."""
    ran = sandbox(*arguments)

    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["status"],
        ["clock", "show"],
        ["reshard", "split", "input"],
        ["fault", "list"],
        ["fault", "add", "duplicate"],
        ["reset"],
        ["down"],
    ],
)
def test_without_a_sandbox_it_is_the_environment(sandbox: Callable[..., Any], arguments: list[str]) -> None:
    """One line that says how to start one, exit code 3."""
    ran = sandbox(*arguments)

    assert (ran.code, ran.out) == (3, "")
    assert "no sandbox was started here" in ran.err
    assert ran.err.count("\n") == 1


def test_a_sandbox_that_is_gone_is_said_with_its_address(sandbox: Callable[..., Any]) -> None:
    """--control to where nobody answers: the address, exit code 3."""
    ran = sandbox("status", "--control", "http://127.0.0.1:9")

    assert (ran.code, ran.out) == (3, "")
    assert "http://127.0.0.1:9" in ran.err


def test_what_nobody_foresaw_is_a_line_and_a_file(
    sandbox: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No traceback on the screen; the whole of it in a file that the line names."""

    def fail(_: object) -> None:
        raise ZeroDivisionError("inside")

    monkeypatch.setattr("sandbox.cli.environment.status_command.connect", fail)
    ran = sandbox("status")

    assert ran.code == 1
    assert "Traceback" not in ran.err
    assert ".sandbox/failures.log" in ran.err
    assert "ZeroDivisionError: inside" in Path(".sandbox/failures.log").read_text(encoding="utf-8")


def test_a_reader_that_has_enough_is_no_error() -> None:
    """Piped into head: no traceback, no message."""
    command = f"{sys.executable} -m sandbox message sample --count 2000 | head -c 10"
    ran = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True, timeout=60)

    assert ran.stdout == '{"messageH'
    assert ran.stderr == ""
