"""``sandbox access``."""

from __future__ import annotations

import click

from sandbox.cli.connection import connect, control_option
from sandbox.cli.printing import json_option, print_line, print_rows


@click.group()
def access() -> None:
    """Limit access keys to streams and operations, to rehearse keys with wrong scopes.

    A limited key is denied everything else with AWS's AccessDeniedException. Any other key may do everything.
    Signatures are not verified.
    """


@access.command("list")
@control_option
@json_option
def list_(control: str | None, as_json: bool) -> None:
    """List the access keys with limited permissions."""
    with connect(control) as client:
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
@control_option
@json_option
def permit(
    key: str, streams: tuple[str, ...], operations: tuple[str, ...], control: str | None, as_json: bool
) -> None:
    """Limit the access key KEY to these operations on these streams.

    An operation that names no stream, such as ListStreams, needs the stream *, as in a policy of AWS.
    """
    from rdss_sandbox.shapes.access import StreamPermission

    with connect(control) as client:
        permitted = client.access.permit(key, StreamPermission(streams or ("*",), operations or ("*",)))
    allowed, places = " ".join(permitted.operations), " ".join(permitted.streams)
    print_line(
        permitted, f"the access key {key} may do {allowed} on {places}, and nothing else", as_json=as_json
    )


@access.command()
@click.argument("key")
@control_option
@json_option
def forget(key: str, control: str | None, as_json: bool) -> None:
    """Remove the limits of the access key KEY."""
    with connect(control) as client:
        forgotten = client.access.forget(key)
    print_line(forgotten, f"the access key {key} may do everything again", as_json=as_json)
