"""``sandbox reset``."""

from __future__ import annotations

import click

from sandbox.cli.connection import connect, control_option


@click.command()
@control_option
def reset(control: str | None) -> None:
    """Remove every message, object and fault, set the clock to real time, and make the streams afresh."""
    with connect(control) as client:
        found = client.reset()
    click.echo(f"sandbox: afresh, with {len(found.streams)} streams", err=True)
