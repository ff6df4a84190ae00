"""``sandbox man``: the manual page, made from the commands."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import click

_CODES = (
    ("0", "pass"),
    ("1", "fail"),
    ("2", "usage: an option or argument is wrong"),
    ("3", "environment: something that is needed is not there"),
    ("4", "inconclusive: what was waited for did not happen in time"),
)


@click.command()
def man() -> None:
    """Print the manual page, made from the commands, for man: sandbox man > sandbox.1 && man ./sandbox.1."""
    from sandbox.cli.sandbox_command import sandbox

    click.echo("\n".join(_page(sandbox)))


def _page(program: click.Group) -> Iterator[str]:
    from rdss_sandbox.version import VERSION

    context = click.Context(program, info_name="sandbox", **program.context_settings)
    yield f'.TH SANDBOX 1 "" "rdss-sandbox {VERSION}" "User Commands"'
    yield ".SH NAME"
    yield f"sandbox \\- {_escape(program.get_short_help_str(200))}"
    yield ".SH SYNOPSIS"
    yield "\\fBsandbox\\fR \\fICOMMAND\\fR [\\fIOPTION\\fR]... [\\fIARGUMENT\\fR]..."
    yield ".SH DESCRIPTION"
    yield from _paragraphs(program.help or "")
    yield ".SH COMMANDS"
    for name in program.list_commands(context):
        command = program.get_command(context, name)
        assert command is not None
        yield from _command(command, ["sandbox", name], context)
    yield ".SH EXIT STATUS"
    for code, meaning in _CODES:
        yield from (".TP", f"\\fB{code}\\fR", meaning)


def _command(command: click.Command, words: list[str], parent: click.Context) -> Iterator[str]:
    """A section for a command, and for each command of a group after it."""
    context = click.Context(command, info_name=words[-1], parent=parent)
    pieces = " ".join(command.collect_usage_pieces(context))
    yield f".SS {_escape(' '.join(words))}"
    yield f"\\fB{_escape(' '.join(words))}\\fR {_escape(pieces)}"
    yield from _paragraphs(command.help or "")
    for parameter in command.params:
        if isinstance(parameter, click.Option) and (record := parameter.get_help_record(context)):
            yield from (".TP", f"\\fB{_escape(record[0])}\\fR", _escape(record[1]))
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from _command(below, [*words, name], context)


def _paragraphs(text: str) -> Iterator[str]:
    """Paragraphs of help; those that click does not fold are printed as they stand."""
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(text)):
        yield ".PP"
        if paragraph.startswith("\b"):
            yield from (".nf", *map(_escape, paragraph.splitlines()[1:]), ".fi")
        else:
            yield _escape(" ".join(paragraph.split()))


def _escape(text: str) -> str:
    """Text for roff: a backslash and a minus are written out, and no line begins with a request."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped
