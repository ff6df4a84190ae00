"""``sandbox certify`` as tools: their arguments are the options of the commands, which run as they are."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import click
import msgspec

from extensions.mcp.agent_tool import (
    AgentTool,
    Arguments,
    Schema,
    WrongArgumentsError,
    describe_arguments,
)
from extensions.mcp.started_certifications import CertificationFailedError, StartedCertifications
from sandbox.certify.comparison import read_certificate
from sandbox.cli.verdicts.certify import certify
from sandbox.judging.runs import new_folder

_OURS: Final = frozenset({"as_json", "to"})
"""The options that are chosen here."""
_LONGEST_WAIT: Final = 30
"""In seconds: programs of agents give a tool a minute."""
_FOLDER: Final = "It returns at once with the folder; certificate says how far it is, and what came of it."


def list_certify_tools(started: StartedCertifications) -> Iterator[AgentTool]:
    """A tool for each command of ``sandbox certify``, and one that reads certificates."""
    context = click.Context(certify)
    for name in certify.list_commands(context):
        command = certify.get_command(context, name)
        assert command is not None
        runs_client = any(each.name == "to" for each in command.params)
        yield AgentTool(
            f"certify_{name}",
            f"{command.help}\n\n{_FOLDER}" if runs_client else command.help or "",
            _describe(command),
            partial(_begin, command, started) if runs_client else partial(_ask, command),
            changes=runs_client,
        )
    yield AgentTool(
        "certificate",
        "Read the certificate in a folder. One that is under way is waited for; where it is not ready then, "
        "the answer has the last lines that its command printed.",
        describe_arguments(
            {
                "folder": {"type": "string"},
                "wait": {
                    "type": "number",
                    "minimum": 0,
                    "maximum": _LONGEST_WAIT,
                    "default": _LONGEST_WAIT,
                    "description": "How many seconds it is waited for.",
                },
            },
            ["folder"],
        ),
        partial(_read, started),
    )


def _name(parameter: click.Parameter) -> str:
    """The name of an option as it is typed, in the manner of Python."""
    longest: str = max(parameter.opts, key=len)
    return longest.lstrip("-").replace("-", "_")


def _describe(command: click.Command) -> Schema:
    chosen = [each for each in command.params if each.name not in _OURS]
    return describe_arguments(
        {_name(each): _describe_parameter(each) for each in chosen},
        [_name(each) for each in chosen if each.required],
    )


def _describe_parameter(parameter: click.Parameter) -> Schema:
    one: Schema = {"type": "string"}
    offered = parameter.type.shell_complete(click.Context(certify), parameter, "")
    if values := [each.value for each in offered if each.type == "plain"]:
        one["enum"] = values
    if isinstance(parameter.type, click.types.IntParamType):
        one["type"] = "integer"
    if isinstance(parameter, click.Option):
        if parameter.is_flag:
            one["type"] = "boolean"
        if parameter.help:
            one["description"] = parameter.help
        if isinstance(parameter.default, str | int):
            one["default"] = parameter.default
    if parameter.multiple or parameter.nargs == -1:
        return {"type": "array", "items": one}
    return one


def _write(command: click.Command, given: Arguments) -> list[str]:
    """What is typed behind the command's name. A value is never taken for an option."""
    options: list[str] = []
    words: list[str] = []
    for each in command.params:
        if (name := _name(each)) not in given or each.name in _OURS:
            continue
        values: list[Any] = given[name] if isinstance(given[name], list) else [given[name]]
        if isinstance(each, click.Argument):
            words += map(str, values)
        elif isinstance(each, click.Option) and each.is_flag:
            options += [max(each.opts, key=len)] * (values == [True])
        else:
            options += [f"{max(each.opts, key=len)}={value}" for value in values]
    return [*options, "--", *words] if words else options


async def _begin(command: click.Command, started: StartedCertifications, given: Arguments) -> str:
    folder = new_folder(f"certify-{command.name}")
    started.begin(folder, _type(command, f"--to={folder}", given))
    return msgspec.json.encode({"folder": str(folder)}).decode()


async def _ask(command: click.Command, given: Arguments) -> str:
    asked = _type(command, "--json", given)
    answer = await asyncio.to_thread(
        subprocess.run, asked, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    if answer.returncode:
        raise CertificationFailedError(answer.stderr.strip())
    return answer.stdout


def _type(command: click.Command, ours: str, given: Arguments) -> list[str]:
    return [sys.executable, "-m", "sandbox", "certify", str(command.name), ours, *_write(command, given)]


async def _read(started: StartedCertifications, given: Arguments) -> str:
    folder = Path(str(given["folder"]))
    seconds = given.get("wait", _LONGEST_WAIT)
    if not isinstance(seconds, int | float) or not 0 <= seconds <= _LONGEST_WAIT:
        raise WrongArgumentsError(f"wait is from 0 to {_LONGEST_WAIT} seconds, and not {seconds!r}")
    if (printed := await asyncio.to_thread(started.wait, folder, seconds)) is not None:
        return msgspec.json.encode({"ready": False, "printed": printed}).decode()
    return msgspec.json.encode(read_certificate(folder)).decode()
