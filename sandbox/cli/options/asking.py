"""Commands that ask the control API: the answer is printed as it came with ``--json``, else by a view."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeAlias

import click
import msgspec

from sandbox.cli.options.control_connection import connect, control_option
from sandbox.cli.output.printing import json_option, print_json

if TYPE_CHECKING:
    from rdss_sandbox.api.endpoint import Endpoint, Parameter
    from rdss_sandbox.client import Client

Callback: TypeAlias = Callable[..., Any]


def shows(view: Callable[[Any], None]) -> Callable[[Callback], Callback]:
    """Add ``--control`` and ``--json`` to a command that gets a ``client`` and returns what is to be shown.

    ``view`` prints that for people.
    """

    def decorate(command: Callback) -> Callback:
        @wraps(command)
        def run(*, control: str | None, as_json: bool, **given: Any) -> None:
            with connect(control) as client:
                answer = command(client=client, **given)
            (print_json if as_json else view)(answer)

        return control_option(json_option(run))

    return decorate


def asks(endpoint: Endpoint[..., Any, Any, Any]) -> Callable[[Callable[[Any], None]], Callback]:
    """Make a command of an endpoint and a function that prints its whole answer for people.

    The variables of the path are its arguments. Its options are the parameters in the query that have a
    description.
    """

    def ask(client: Client, **given: Any) -> Any:
        stated = {name: value for name, value in given.items() if value is not None}
        request = endpoint.build_request(endpoint.subject(client.transport), **stated)
        return client.transport.ask(request, replace(endpoint, take=None).read)

    def decorate(view: Callable[[Any], None]) -> Callback:
        command: Callback = wraps(view)(shows(view)(ask))
        for parameter in reversed(endpoint.query):
            command = _add_option(parameter, command)
        for parameter in reversed(endpoint.variables):
            kind, name = _find_schema(parameter), parameter.sent_as.upper()
            command = click.argument(parameter.name, metavar=name, type=_read_type(kind))(command)
        return command

    return decorate


def _add_option(parameter: Parameter, command: Callback) -> Callback:
    kind = _find_schema(parameter)
    if "description" not in kind:
        return command
    flag = f"--{parameter.sent_as.replace('_', '-')}"
    given = {"type": _read_type(kind), "default": parameter.default, "help": kind["description"]}
    return click.option(flag, parameter.name, **given)(command)


def _find_schema(parameter: Parameter) -> dict[str, Any]:
    """The JSON schema of a parameter that is given."""
    schema = msgspec.json.schema(parameter.type)
    found: dict[str, Any] = schema.get("anyOf", [schema])[0]
    return found


def _read_type(kind: dict[str, Any]) -> Any:
    """What click takes for a value of this JSON schema."""
    if "enum" in kind:
        return click.Choice(kind["enum"])
    if kind["type"] != "integer":
        return str
    bounds = (kind.get("minimum"), kind.get("maximum"))
    return int if bounds == (None, None) else click.IntRange(*bounds)
