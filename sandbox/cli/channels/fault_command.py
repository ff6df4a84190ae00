"""``sandbox fault``, with a subcommand for each fault type of the registry."""

from __future__ import annotations

import re
from collections.abc import Callable, Container
from typing import TYPE_CHECKING, Any

import click

from rdss_sandbox.api.faults import Faults
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
    taken = {flag for option in common for flag in option.opts}
    own = [_option(type_, attribute, taken) for attribute in type_.attributes]
    command = click.Command(
        type_.name, params=[*own, *common], callback=_adder(type_), help=type_.description
    )
    return json_option(control_option(command))


def _common_options(directions: list[str]) -> list[click.Parameter]:
    return [
        click.Option(["--name"], help="The fault's name.  [default: its type]"),
        click.Option(
            ["--channel"], metavar="GLOB", help="The streams or queues that it affects.  [default: *]"
        ),
        click.Option(
            ["--direction"], type=click.Choice(directions), help=f"When it acts.  [default: {directions[0]}]"
        ),
        click.Option(
            ["--toxicity"], type=float, help="The share of messages that it affects, 0 to 1.  [default: 1]"
        ),
        click.Option(["--limit"], type=int, help="Stop after this many injections."),
        click.Option(["--at"], metavar="TIME", help="Begin after this time: 200ms, 5s, 6m."),
        click.Option(["--for"], metavar="TIME", help="Stay in force for this time: 5s, 6m."),
        click.Option(["--after"], type=int, help="Let this many messages pass first."),
        click.Option(["--first"], type=int, help="Then inject into this many messages only."),
        click.Option(["--every"], type=int, help="Inject into every n-th of those messages."),
        click.Option(
            ["--fails"], type=int, help="Inject into each chosen message this many times, then let it pass."
        ),
        click.Option(
            ["--match"],
            multiple=True,
            metavar="FIELD=GLOB",
            help=f"Only messages whose field matches: {_list_fields()}, or channel.",
        ),
    ]


def _list_fields() -> str:
    from emulator.faults.faulted_message import list_fields

    return ", ".join(list_fields(load_contract()))


def option_name(type_: FaultType, attribute: Attribute, taken: Container[str]) -> str:
    """The option for an attribute, prefixed with the type's name where every fault has that option."""
    flag = f"--{attribute.name.replace('_', '-')}"
    return f"--{type_.name}-{flag[2:]}" if flag in taken else flag


def _option(type_: FaultType, attribute: Attribute, taken: Container[str]) -> click.Option:
    unit = f", in {_UNITS.get(attribute.unit, attribute.unit)}" if attribute.unit else ""
    meaning = attribute.description[0].upper() + attribute.description[1:]
    bounds = f", {attribute.bounds}" if attribute.bounds else ""
    default = "" if attribute.default in (None, "") else f"  [default: {attribute.default}]"
    kind = click.Choice(attribute.choices) if attribute.choices else None
    return click.Option(
        [option_name(type_, attribute, taken), f"attribute_{attribute.name}"],
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
