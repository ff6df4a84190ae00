"""``sandbox contract``: check, show and export contracts as AsyncAPI documents."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sandbox.cli.output.exit_codes import CommandFailedError, Exit
from sandbox.cli.output.printing import json_option, print_json, print_table

if TYPE_CHECKING:
    from schemas.asyncapi.contract import AsyncApiContract

_FILE = click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))


@click.group()
def contract() -> None:
    """Check, show and export contracts as AsyncAPI documents."""


@contract.command()
@_FILE
@json_option
def check(file: Path, *, as_json: bool) -> int:
    """Say everything that is wrong with an AsyncAPI document, or not supported.

    Each problem has the JSON Pointer of its place. Exit code 0: a contract can be made of it, 1: it cannot.
    With --json there is a line for each problem.
    """
    from schemas.asyncapi.load import load_contract
    from schemas.asyncapi.problems import BadDocumentError

    try:
        found = load_contract(file)
    except BadDocumentError as error:
        for problem in error.problems:
            print_json(problem._asdict()) if as_json else click.echo(str(problem))
        count = len(error.problems)
        click.echo(f"sandbox: {file}: {count} problem{'s' if count > 1 else ''}", err=True)
        return Exit.FAIL
    channels, kinds = len(found.channels), len(found.kinds)
    click.echo(
        f"sandbox: {file}: {found.name} {found.release}, channels: {channels}, messages: {kinds}", err=True
    )
    return Exit.PASS


@contract.command()
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False), required=False)
@json_option
def show(file: Path | None, *, as_json: bool) -> None:
    """Show the contract that an AsyncAPI document declares, by default that of the settings.

    Channels, messages, identity, type, expiry, order key, limits, codes and where refused messages go; and
    what is not offered, since the document does not declare it.
    """
    from schemas.asyncapi.description import describe

    named = os.environ.get("SANDBOX_CONTRACT")
    if file is None and not named:
        raise click.UsageError("name an AsyncAPI document: the settings of this directory name none")
    described = describe(_load(file or Path(named or "")))
    if as_json:
        print_json(described)
        return
    click.echo(
        f"{described['name']} {described['release']}, messages of at most {described['maxBytes']:,} bytes"
    )
    click.echo(f"told apart by: {described['toldApartBy'] or 'nothing, there is one'}\n")
    print_table(
        ("CHANNEL", "ADDRESS", "MESSAGES", "AS"),
        [
            (each["name"], each["address"], _list(each["messages"]), _bindings(each))
            for each in described["channels"]
        ],
    )
    click.echo()
    print_table(
        ("MESSAGE", "TYPES", "JUDGED AS", "DECLARES"),
        [
            (each["name"], _list(each["types"]), each["judgedAs"], _declared(each))
            for each in described["messages"]
        ],
    )
    click.echo()
    print_table(
        ("CODE", "GOES TO", "MEANS"),
        [(each["code"], each["channel"], each["description"]) for each in described["codes"]],
    )
    for sentence in described["notDeclared"]:
        click.echo(f"\n{sentence}")


@contract.command()
@json_option
def export(*, as_json: bool) -> None:
    """Print the RDSS contract as an AsyncAPI document, in YAML.

    Other tools read it, and up --contract takes it too.
    """
    import yaml

    from schemas.rdss.asyncapi_document import write_document

    document = write_document()
    if as_json:
        print_json(document)
    else:
        click.echo(yaml.safe_dump(document, sort_keys=False, width=110), nl=False)


def _load(file: Path) -> AsyncApiContract:
    from schemas.asyncapi.load import load_contract
    from schemas.asyncapi.problems import BadDocumentError

    try:
        return load_contract(file)
    except BadDocumentError as error:
        raise CommandFailedError(
            f"{file}: {error.problems[0]}; see: sandbox contract check {file}"
        ) from error


def _list(names: list[str]) -> str | None:
    return ", ".join(names) or None


def _bindings(channel: dict[str, Any]) -> str | None:
    places = [f"{kind} {channel[kind]}" for kind in ("stream", "exchange", "queue") if kind in channel]
    return "; ".join([*places, *([f"refused to {channel['reject']}"] if channel["reject"] else [])]) or None


def _declared(message: dict[str, Any]) -> str | None:
    return "; ".join(f"{name} {place}" for name, place in message["declares"].items() if place) or None
