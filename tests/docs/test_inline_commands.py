"""A command that a page names within a sentence or a table exists, with the options that are given."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from sandbox.cli.sandbox_command import sandbox
from sandbox.scenarios.scenario import library
from tests.docs.pages import PAGES, ROOT

_FENCES = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
_COMMAND = re.compile(r"`sandbox ([^`]+)`")
_PLACEHOLDER = re.compile(r"\.\.\.|[A-Z][A-Z|_]*")
"""A word in capitals stands for what a reader puts there."""


_WRITTEN = [page for page in PAGES if page.name != "commands.md"]  # that one is made of the commands


@pytest.mark.parametrize("page", _WRITTEN, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_in_sentences_can_be_typed(page: Path) -> None:
    """Its words lead to a command, its options are the command's, and its scenario is in the library."""
    for line in _COMMAND.findall(_FENCES.sub("", page.read_text(encoding="utf-8"))):
        words = shlex.split(re.split(r" ?[|>] ?(?![A-Z])", line.replace(r"\|", "|"))[0])
        context, command = click.Context(sandbox, info_name="sandbox"), sandbox
        while isinstance(command, click.Group) and words and not words[0].startswith("-"):
            if _PLACEHOLDER.fullmatch(words[0]):
                break
            # NoSuchCommand names what is not there.
            name, command, words = command.resolve_command(context, words)
            context = click.Context(command, info_name=name, parent=context)
        else:
            # An option at the end is named without its value.
            value = ["VALUE"] if words and words[-1].startswith("--") else []
            command.make_parser(context).parse_args([*words, *value])
        if context.command_path == "sandbox scenario run" and words and words[0][0].islower():
            assert words[0] in library() or "." in words[0], f"{words[0]} is no scenario"
