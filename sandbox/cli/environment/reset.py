from __future__ import annotations

from typing import TYPE_CHECKING

import click

from sandbox.cli.options.connection import asks_sandbox
from sandbox.cli.output.printing import print_json

if TYPE_CHECKING:
    from rdss_sandbox.client import Client


@click.command()
@asks_sandbox
def reset(client: Client, as_json: bool) -> None:
    """Remove every message, object and fault, set the clock to real time, and create the streams again.

    Queues, topics and asynchronous messages are emptied too. What an application or adaptor of the command
    line keeps is its own: it starts over with the new streams the next time it is started.
    """
    found = client.reset()
    if as_json:
        print_json(found)
        return
    click.echo(f"sandbox: empty again, with {len(found.streams)} new streams", err=True)
