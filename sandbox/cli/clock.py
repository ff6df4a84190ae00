"""``sandbox clock``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from sandbox.cli.connection import connect, control_option
from sandbox.cli.printing import json_option, print_json
from sandbox.cli.status import describe_clock
from sandbox.cli.waiting import duration, moment

if TYPE_CHECKING:
    from rdss_sandbox.shapes.clock import ClockChange


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
    _change_and_show(control, None, as_json)


@clock.command()
@control_option
@json_option
def freeze(control: str | None, as_json: bool) -> None:
    """Stop the clock where it is."""
    from rdss_sandbox.shapes.clock import ClockChange

    _change_and_show(control, ClockChange("freeze"), as_json)


@clock.command()
@click.argument("length", metavar="DURATION", callback=duration)
@control_option
@json_option
def advance(length: float, control: str | None, as_json: bool) -> None:
    """Let DURATION pass at once: 90, 30s, 6m, 24h, 7d."""
    from rdss_sandbox.shapes.clock import ClockChange

    _change_and_show(control, ClockChange("advance", seconds=length), as_json)


@clock.command()
@click.argument("factor", type=click.FloatRange(min=0))
@control_option
@json_option
def speed(factor: float, control: str | None, as_json: bool) -> None:
    """Let time run FACTOR times as fast from now on."""
    from rdss_sandbox.shapes.clock import ClockChange

    _change_and_show(control, ClockChange("speed", speed=factor), as_json)


@clock.command("set")
@click.argument("time", callback=moment)
@control_option
@json_option
def set_(time: float, control: str | None, as_json: bool) -> None:
    """Show TIME and go on from it at the present speed: 2026-01-01T00:00:00Z, or seconds since 1970."""
    from rdss_sandbox.shapes.clock import ClockChange

    _change_and_show(control, ClockChange("set", time=time), as_json)


@clock.command()
@control_option
@json_option
def real(control: str | None, as_json: bool) -> None:
    """Go back to the machine's own time."""
    from rdss_sandbox.shapes.clock import ClockChange

    _change_and_show(control, ClockChange("real"), as_json)


def _change_and_show(control: str | None, change: ClockChange | None, as_json: bool) -> None:
    with connect(control) as client:
        found = client.clock() if change is None else client.change_clock(change)
    if as_json:
        print_json(found)
    else:
        click.echo(describe_clock(found))
