"""What an agent is offered: a tool with its arguments, as the Model Context Protocol has them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

Arguments: TypeAlias = Mapping[str, Any]
Schema: TypeAlias = dict[str, Any]


class AgentTool(NamedTuple):
    """A tool. ``arguments`` is a JSON Schema; ``call`` answers in text, JSON wherever it has a form.

    ``changes`` says that it changes something: such a tool is only there where that was allowed. ``uri``
    is that of a resource with the answer to a call without arguments; empty where there is none.
    """

    name: str
    about: str
    arguments: Schema
    call: Callable[[Arguments], Awaitable[str]]
    changes: bool = False
    uri: str = ""


class WrongArgumentsError(ValueError):
    """Arguments that a tool does not take; the text says which, and what it takes."""


def describe_arguments(properties: Mapping[str, Schema], required: list[str]) -> Schema:
    """The schema of these arguments and no others."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": required,
        "additionalProperties": False,
    }


def check_arguments(tool: AgentTool, given: Arguments) -> None:
    """Raise ``WrongArgumentsError`` for a name that the tool does not know, and for one that is missing."""
    known = tool.arguments["properties"]
    unknown = [name for name in given if name not in known]
    missing = [name for name in tool.arguments["required"] if name not in given]
    if unknown or missing:
        what = f"has no argument {unknown[0]!r}" if unknown else f"needs the argument {missing[0]!r}"
        raise WrongArgumentsError(f"{tool.name} {what}; its arguments are: {', '.join(known) or 'none'}")
