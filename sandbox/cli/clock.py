"""``sandbox clock``."""

from __future__ import annotations

from typing import Literal, TypeAlias

import click

from sandbox.cli.connection import connect, control_option
from sandbox.cli.printing import json_option, print_line
from sandbox.cli.status import describe_clock
from sandbox.cli.waiting import duration, moment

_Action: TypeAlias = Literal["freeze", "real", "advance", "speed", "set"]


@click.group()
def clock() -> None:
    """Show, set, freeze, advance or speed up the sandbox's clock.

    Everything that waits (retention, iterators, back-off, delays) waits on it.
    """


@clock.command()
@control_option
@json_option
def show(control: str | None, as_json: bool) -> None:
    """Show the clock."""
    with connect(control) as client:
        found = client.clock()
    print_line(found, describe_clock(found), as_json=as_json)


@clock.command()
@control_option
@json_option
def freeze(control: str | None, as_json: bool) -> None:
    """Stop the clock where it is."""
    _change(control, as_json, "freeze")


@clock.command()
@click.argument("length", metavar="DURATION", callback=duration)
@control_option
@json_option
def advance(length: float, control: str | None, as_json: bool) -> None:
    """Let DURATION pass at once: 90, 30s, 6m, 24h, 7d."""
    _change(control, as_json, "advance", seconds=length)


@clock.command()
@click.argument("factor", type=click.FloatRange(min=0))
@control_option
@json_option
def speed(factor: float, control: str | None, as_json: bool) -> None:
    """Let time run FACTOR times as fast from now on."""
    _change(control, as_json, "speed", speed=factor)


@clock.command("set")
@click.argument("time", callback=moment)
@control_option
@json_option
def set_(time: float, control: str | None, as_json: bool) -> None:
    """Show TIME and go on from it at the present speed: 2026-01-01T00:00:00Z, or seconds since 1970."""
    _change(control, as_json, "set", time=time)


@clock.command()
@control_option
@json_option
def real(control: str | None, as_json: bool) -> None:
    """Go back to the machine's own time."""
    _change(control, as_json, "real")


def _change(control: str | None, as_json: bool, action: _Action, **values: float) -> None:
    from rdss_sandbox.shapes.clock import ClockChange

    with connect(control) as client:
        found = client.change_clock(ClockChange(action, **values))
    print_line(found, describe_clock(found), as_json=as_json)
