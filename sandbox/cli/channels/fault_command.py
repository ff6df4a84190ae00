"""``sandbox fault``, with a subcommand for each fault type of the registry."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from rdss_sandbox.api.faults import Faults
from rdss_sandbox.text.shell_commands import option_name
from sandbox.cli.groups import LazyGroup
from sandbox.cli.options.asking import asks
from sandbox.cli.options.contract import load_contract
from sandbox.cli.options.control_connection import connect, control_option
from sandbox.cli.output.exit_codes import CommandFailedError, Exit
from sandbox.cli.output.printing import json_option, print_json, print_line, print_table

if TYPE_CHECKING:
    from emulator.faults.fault import Attribute, FaultType
    from rdss_sandbox.shapes.faults import Fault, FaultList

_UNITS = {"s": "seconds"}
_WHEN = ("at", "for", "every", "first", "after", "fails")


@click.group()
def fault() -> None:
    """Add, list and remove faults."""


class FaultTypeCommands(LazyGroup):
    """Makes a command for each fault type, with the type's attributes as options."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        return list(_types())

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        type_ = _types().get(cmd_name)
        return None if type_ is None else _command(type_)

    def unknown(self, name: str) -> str:
        return f"There is no type of fault {name!r}; there are: {', '.join(_types())}."


@fault.group(cls=FaultTypeCommands)
def add() -> None:
    """Add a fault of a type; sandbox fault add TYPE --help lists its attributes."""


@fault.command("list")
@asks(Faults.faults)
def list_(found: FaultList) -> None:
    """Show the faults in force and how many injections each has made."""
    titles = ("fault", "type", "channel", "direction", "toxicity", "injected", "attributes")
    print_table(titles, map(_row, found.faults))


@fault.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--all", "every", is_flag=True, help="Remove every fault.")
@control_option
@json_option
def remove(names: tuple[str, ...], every: bool, control: str | None, as_json: bool) -> None:
    """Remove faults by name."""
    if every == bool(names):
        raise click.UsageError("give the names of the faults to remove, or --all")
    with connect(control) as client:
        there = [each.name for each in client.faults()]
        chosen = there if every else names
        if unknown := [name for name in chosen if name not in there]:
            problem = f"there is no fault {unknown[0]!r}; sandbox fault list shows those in force"
            raise CommandFailedError(f"{problem}: {', '.join(there) or 'none'}", Exit.USAGE)
        gone = [client.remove_fault(name) for name in chosen]
    if as_json:
        print_json({"removed": gone})
    else:
        for each in gone:
            click.echo(f"removed {each.name}, after {each.injected} injections")


def _types() -> dict[str, FaultType]:
    from emulator.faults.registry import TYPES

    return TYPES


def _command(type_: FaultType) -> click.Command:
    common = _common_options([direction.value for direction in type_.directions])
    own = [_option(type_, attribute) for attribute in type_.attributes]
    command = click.Command(
        type_.name, params=[*own, *common], callback=_adder(type_), help=type_.description
    )
    return json_option(control_option(command))


def _common_options(directions: list[str]) -> list[click.Parameter]:
    from emulator.faults.common_settings import COMMON_SETTINGS

    more = {
        "channel": "  [default: *]",
        "direction": f"  [default: {directions[0]}]",
        "toxicity": "  [default: 1]",
        "match": f" Fields: {_list_fields()}, channel.",
    }
    kinds: dict[str, Any] = {"number": float, "integer": int, "choice": click.Choice(directions)}
    metavars = {"channel": "GLOB", "match": "FIELD=GLOB", "at": "TIME", "for": "TIME"}
    return [
        click.Option(
            [f"--{each.name}"],
            type=kinds.get(each.type),
            metavar=metavars.get(each.name),
            multiple=each.name == "match",
            help=f"{_sentence(each)}.{more.get(each.name, '')}",
        )
        for each in COMMON_SETTINGS
    ]


def _sentence(attribute: Attribute) -> str:
    bounds = f", {attribute.bounds}" if attribute.most == 1 else ""
    return f"{attribute.description[0].upper()}{attribute.description[1:]}{bounds}"


def _list_fields() -> str:
    from emulator.faults.faulted_message import list_fields

    return ", ".join(list_fields(load_contract()))


def _option(type_: FaultType, attribute: Attribute) -> click.Option:
    unit = f", in {_UNITS.get(attribute.unit, attribute.unit)}" if attribute.unit else ""
    meaning = attribute.description[0].upper() + attribute.description[1:]
    bounds = f", {attribute.bounds}" if attribute.bounds else ""
    default = "" if attribute.default in (None, "") else f"  [default: {attribute.default}]"
    kind = click.Choice(attribute.choices) if attribute.choices else None
    return click.Option(
        [option_name(type_.name, attribute.name), f"attribute_{attribute.name}"],
        type=kind,
        metavar=None if kind else attribute.type.upper(),
        help=f"{meaning}{unit}{bounds}.{default}",
    )


def _adder(type_: FaultType) -> Callable[..., None]:
    def add_fault(control: str | None, as_json: bool, match: tuple[str, ...], **given: Any) -> None:
        from rdss_sandbox.shapes.faults import NewFault

        stated = {name: value for name, value in given.items() if value is not None}
        when = {name: stated.pop(name) for name in _WHEN if name in stated}
        if match:
            when["match"] = dict(_field(text) for text in match)
        attributes = {
            name.removeprefix("attribute_"): stated.pop(name)
            for name in list(stated)
            if name.startswith("attribute_")
        }
        with connect(control) as client:
            added = client.add_fault(NewFault(type_.name, attributes=attributes, when=when, **stated))
        if added.note:
            click.echo(f"sandbox: note: {added.note}", err=True)
        print_line(added, f"added {added.name}: {added.type} on {added.channel}", as_json=as_json)

    return add_fault


def _field(text: str) -> tuple[str, str]:
    found = re.fullmatch(r"(\w+)=(.*)", text)
    if found is None:
        raise click.BadParameter(f"{text!r} is not FIELD=GLOB; FIELD is {_list_fields()}, or channel")
    return found[1], found[2]


def _row(found: Fault) -> tuple[object, ...]:
    attributes = " ".join(
        f"{name}={value}" for name, value in found.attributes.items() if value not in (None, "")
    )
    name = found.name if found.enabled else f"{found.name} (paused)"
    return name, found.type, found.channel, found.direction, found.toxicity, found.injected, attributes
