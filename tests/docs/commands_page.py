"""The page of the commands, made of their help: ``python -m tests.docs.commands_page`` writes it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click

from sandbox.cli.sandbox_command import sandbox

PAGE: Final = Path(__file__).parents[2] / "docs/commands.md"
ELSEWHERE: Final = {"sandbox fault add": "[Faults](faults.md) has each type with its attributes."}
"""Groups with a page of their own for what is in them."""
_HEAD: Final = """\
# Commands

Every command of `sandbox`, as `sandbox COMMAND --help` describes it. Data goes to standard output and talk to
standard error. The exit codes are 0 pass, 1 fail, 2 usage, 3 environment, 4 inconclusive. What can be set for
a sandbox is in [Settings](settings.md) too.

<!-- made of the commands: python -m tests.docs.commands_page -->
"""


def page() -> str:
    """The page as it should be."""
    context = click.Context(sandbox, info_name="sandbox", **sandbox.context_settings)
    sections = [_HEAD]
    for name in sandbox.list_commands(context):
        sections += _command(sandbox, name, context)
    return "\n".join(sections)


def _command(group: click.Group, name: str, parent: click.Context) -> Iterator[str]:
    """The section of a command, then those of the commands in it."""
    command = group.get_command(parent, name)
    assert command is not None
    context = click.Context(command, info_name=name, parent=parent)
    words = context.command_path
    pieces = " ".join(command.collect_usage_pieces(context))
    yield f"{'##' if parent.parent is None else '###'} {words}\n"
    yield f"`{words} {pieces}`\n"
    yield from _paragraphs(command.help or "")
    records = [
        record
        for option in command.params
        if isinstance(option, click.Option) and (record := option.get_help_record(context))
    ]
    if records:
        yield "| option | |\n|---|---|"
        yield "".join(f"| `{_cell(option)}` | {_escape(_cell(meaning))} |\n" for option, meaning in records)
    if words in ELSEWHERE:
        yield f"{ELSEWHERE[words]}\n"
    elif isinstance(command, click.Group):
        for below in command.list_commands(context):
            yield from _command(command, below, context)


def _paragraphs(text: str) -> Iterator[str]:
    """Paragraphs of help; those that click does not fold stand as they are."""
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(text)):
        if paragraph.startswith("\b"):
            yield "```text\n" + "\n".join(paragraph.splitlines()[1:]) + "\n```\n"
        elif paragraph:
            yield _escape(" ".join(paragraph.split())) + "\n"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", r"\|")


def _escape(text: str) -> str:
    """Text of a terminal as Markdown: a star is a star, and ``<NAME>`` no element."""
    return re.sub(r"([*<])", r"\\\1", text)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
