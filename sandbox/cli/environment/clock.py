from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import click

from sandbox.cli.environment.status import describe_clock
from sandbox.cli.options.connection import asks_sandbox
from sandbox.cli.options.waiting import duration, moment
from sandbox.cli.output.printing import print_line

if TYPE_CHECKING:
    from rdss_sandbox.client import Client

_Action: TypeAlias = Literal["freeze", "real", "advance", "speed", "set"]


@click.group()
def clock() -> None:
    """Show, set, freeze, advance or speed up the sandbox's clock.

    Everything that waits (retention, iterators, back-off, delays) waits on it.
    """


@clock.command()
@asks_sandbox
def show(client: Client, as_json: bool) -> None:
    """Show the clock."""
    found = client.clock()
    print_line(found, describe_clock(found), as_json=as_json)


@clock.command()
@asks_sandbox
def freeze(client: Client, as_json: bool) -> None:
    """Stop the clock where it is."""
    _change(client, as_json, "freeze")


@clock.command()
@click.argument("length", metavar="DURATION", callback=duration)
@asks_sandbox
def advance(length: float, client: Client, as_json: bool) -> None:
    """Let DURATION pass at once: 90, 30s, 6m, 24h, 7d."""
    _change(client, as_json, "advance", seconds=length)


@clock.command()
@click.argument("factor", type=click.FloatRange(min=0))
@asks_sandbox
def speed(factor: float, client: Client, as_json: bool) -> None:
    """Let time run FACTOR times as fast from now on."""
    _change(client, as_json, "speed", speed=factor)


@clock.command("set")
@click.argument("time", callback=moment)
@asks_sandbox
def set_(time: float, client: Client, as_json: bool) -> None:
    """Show TIME and go on from it at the present speed: 2026-01-01T00:00:00Z, or seconds since 1970."""
    _change(client, as_json, "set", time=time)


@clock.command()
@asks_sandbox
def real(client: Client, as_json: bool) -> None:
    """Go back to the machine's own time."""
    _change(client, as_json, "real")


def _change(client: Client, as_json: bool, action: _Action, **values: float) -> None:
    from rdss_sandbox.shapes.clock import ClockChange

    found = client.change_clock(ClockChange(action, **values))
    print_line(found, describe_clock(found), as_json=as_json)
