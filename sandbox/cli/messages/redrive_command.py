from __future__ import annotations

from typing import TYPE_CHECKING

import click

from sandbox.cli.options.control_connection import asks_sandbox
from sandbox.cli.output.printing import print_line

if TYPE_CHECKING:
    from typing import BinaryIO

    from rdss_sandbox.client import Client


@click.command()
@click.argument("messages", metavar="ID...", nargs=-1, required=True, type=click.IntRange(min=0))
@click.option("--to", "stream", metavar="STREAM", help="Where to send them.  [default: where they came from]")
@click.option(
    "--edited", type=click.File("rb"), metavar="FILE|-", help="Send this text in the place of the message."
)
@asks_sandbox
def redrive(
    *, messages: tuple[int, ...], stream: str | None, edited: BinaryIO | None, client: Client, as_json: bool
) -> None:
    """Send rejected messages again, as they were first sent, with a note in their history.

    ID is the id that sandbox messages --filter stream:error lists.
    """
    from rdss_sandbox.shapes.messages import Redrive

    if edited is not None and len(messages) > 1:
        raise click.UsageError("--edited is for one message")
    again = Redrive(stream, edited.read() if edited else None)
    for each in messages:
        sent = client.redrive_message(each, again)
        print_line(sent, f"sent #{each} to {sent.stream}, {sent.shard}", as_json=as_json)
