from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rdss_sandbox.api.sandbox_state import SandboxState
from rdss_sandbox.shapes.clock import ClockChange, ClockReading
from sandbox.cli.environment.status_command import describe_clock
from sandbox.cli.options.asking import asks, shows
from sandbox.cli.options.waiting import duration, moment

if TYPE_CHECKING:
    from rdss_sandbox.client import Client


def _tell(reading: ClockReading) -> None:
    click.echo(describe_clock(reading))


@click.group()
def clock() -> None:
    """Show, set, freeze, advance or speed up the sandbox's clock.

    Everything that waits (retention, iterators, back-off, delays) waits on it.
    """


@clock.command()
@asks(SandboxState.clock)
def show(reading: ClockReading) -> None:
    """Show the clock."""
    _tell(reading)


@clock.command()
@shows(_tell)
def freeze(client: Client) -> ClockReading:
    """Stop the clock where it is. Everything that waits stands still until it moves: advance, set, real."""
    return client.change_clock(ClockChange("freeze"))


@clock.command()
@click.argument("length", metavar="DURATION", callback=duration)
@shows(_tell)
def advance(length: float, client: Client) -> ClockReading:
    """Let DURATION pass at once: 90, 30s, 6m, 24h, 7d."""
    return client.change_clock(ClockChange("advance", seconds=length))


@clock.command()
@click.argument("factor", type=click.FloatRange(min=0))
@shows(_tell)
def speed(factor: float, client: Client) -> ClockReading:
    """Let time run FACTOR times as fast from now on."""
    return client.change_clock(ClockChange("speed", speed=factor))


@clock.command("set")
@click.argument("time", callback=moment)
@shows(_tell)
def set_(time: float, client: Client) -> ClockReading:
    """Set the clock to TIME: 2026-01-01T00:00:00Z, or seconds since 1970. Its speed stays."""
    return client.change_clock(ClockChange("set", time=time))


@clock.command()
@shows(_tell)
def real(client: Client) -> ClockReading:
    """Go back to the machine's own time."""
    return client.change_clock(ClockChange("real"))
