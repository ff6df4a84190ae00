from __future__ import annotations

from typing import TYPE_CHECKING

import click

from sandbox.cli.connection import asks_sandbox
from sandbox.cli.printing import print_line, print_rows

if TYPE_CHECKING:
    from rdss_sandbox.client import Client


@click.group()
def access() -> None:
    """Limit access keys to streams and operations, to rehearse keys with wrong scopes.

    A limited key is denied everything else with AWS's AccessDeniedException. Any other key may do everything.
    Signatures are not verified.
    """


@access.command("list")
@asks_sandbox
def list_(client: Client, as_json: bool) -> None:
    """List the access keys with limited permissions."""
    found = client.access.list()
    rows = ((each.access_key, " ".join(each.streams), " ".join(each.operations)) for each in found)
    print_rows({"permissions": found}, ("access key", "streams", "operations"), rows, as_json=as_json)


@access.command()
@click.argument("key")
@click.option(
    "--stream",
    "streams",
    multiple=True,
    metavar="NAME",
    help="A stream, by name or pattern.  [default: *]",
)
@click.option(
    "--operation",
    "operations",
    multiple=True,
    metavar="NAME",
    help="An operation of Kinesis, such as GetRecords or 'Describe*'.  [default: *]",
)
@asks_sandbox
def permit(
    key: str, streams: tuple[str, ...], operations: tuple[str, ...], client: Client, as_json: bool
) -> None:
    """Limit the access key KEY to these operations on these streams.

    An operation that names no stream, such as ListStreams, needs the stream *, as in a policy of AWS.
    """
    from rdss_sandbox.shapes.access import StreamPermission

    permitted = client.access.permit(key, StreamPermission(streams or ("*",), operations or ("*",)))
    allowed, places = " ".join(permitted.operations), " ".join(permitted.streams)
    print_line(
        permitted, f"the access key {key} may do {allowed} on {places}, and nothing else", as_json=as_json
    )


@access.command()
@click.argument("key")
@asks_sandbox
def forget(key: str, client: Client, as_json: bool) -> None:
    """Remove the limits of the access key KEY."""
    forgotten = client.access.forget(key)
    print_line(forgotten, f"the access key {key} may do everything again", as_json=as_json)
