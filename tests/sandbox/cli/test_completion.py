"""Completion in shells, the manual page, and what every command has."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import click
import pytest

from sandbox.cli.command_table import COMMANDS
from sandbox.cli.sandbox_command import sandbox as group

WITHOUT_JSON = {"mcp", "tui", "run", "hub each", "completion", "man"}
"""A server of another protocol, a screen, the output of other commands, a script and a page."""


def commands(
    command: click.Command, words: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    if not isinstance(command, click.Group):
        yield words, command
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        below = command.get_command(context, name)
        assert below is not None
        yield from commands(below, (*words, name))


def test_every_command_has_json() -> None:
    """For programs."""
    missing = {
        " ".join(words)
        for words, command in commands(group)
        if not any("--json" in parameter.opts for parameter in command.params)
    }
    assert missing == WITHOUT_JSON


@pytest.mark.parametrize(
    ("line", "found"),
    [("sandbox ev", {"events"}), ("sandbox fault a", {"add"}), ("sandbox wait --ti", {"--timeout"})],
)
def test_bash_completes(line: str, found: set[str]) -> None:
    """Bash calls the command with the words so far, as the script that was printed has it."""
    words = line.split(" ")
    environment = {
        **os.environ,
        "_SANDBOX_COMPLETE": "bash_complete",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words) - 1),
    }
    ran = subprocess.run(
        [sys.executable, "-m", "sandbox"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert {each.partition(",")[2] for each in ran.stdout.splitlines()} == found


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_a_script(sandbox: Callable[..., Any], shell: str) -> None:
    """Which asks the command itself; bash takes it as it is."""
    ran = sandbox("completion", shell)
    assert (ran.code, f"_SANDBOX_COMPLETE={shell}_complete" in ran.out) == (0, True)
    if shell == "bash":
        subprocess.run(["bash", "-n"], input=ran.out, text=True, check=True)


def test_the_manual_page_has_every_command_and_option(sandbox: Callable[..., Any]) -> None:
    """In roff, where no line of text begins as a request."""
    page = sandbox("man").out
    for name in COMMANDS:
        assert "\n.SS sandbox {}\n".format(name.replace("-", "\\-")) in page
    for option in ("timeout", "topology", "toxicity"):
        assert f"\\-\\-{option}" in page
    requests = {line.split(" ")[0] for line in page.splitlines() if line.startswith(".")}
    assert requests <= {".TH", ".SH", ".SS", ".PP", ".TP", ".nf", ".fi"}
    assert not re.search(r"[\b\t]", page.replace("\n", ""))
