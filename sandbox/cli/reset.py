"""``sandbox reset``."""

from __future__ import annotations

import click

from sandbox.cli.connection import connect, control_option
from sandbox.cli.printing import json_option, print_json


@click.command()
@control_option
@json_option
def reset(control: str | None, as_json: bool) -> None:
    """Remove every message, object and fault, set the clock to real time, and create the streams again.

    Queues, topics and asynchronous messages are emptied too. What an application or adaptor of the command
    line keeps is its own: it starts over with the new streams the next time it is started.
    """
    with connect(control) as client:
        found = client.reset()
    if as_json:
        print_json(found)
        return
    click.echo(f"sandbox: empty again, with {len(found.streams)} new streams", err=True)
