from __future__ import annotations

from typing import TYPE_CHECKING

import click

from sandbox.cli.options.connection import asks_sandbox
from sandbox.cli.output.printing import print_line, print_rows

if TYPE_CHECKING:
    from rdss_sandbox.client import Client


@click.group()
def access() -> None:
    """Limit access keys to streams and operations, to rehearse keys with wrong scopes.

    A limited key is denied everything else with AWS's error. Any other key may do everything, unless the key
    * is limited: then others are unknown. Signatures are not verified.
    """


@access.command("list")
@asks_sandbox
def list_(client: Client, as_json: bool) -> None:
    """List the access keys with limited permissions."""
    found = client.access.list()
    rows = (
        (each.access_key, " ".join(each.streams), " ".join(each.operations) or "nothing") for each in found
    )
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
    help="An operation: GetRecords, 'Describe*', s3:GetObject, 'sqs:*'.  [default: *]",
)
@click.option("--nothing", is_flag=True, help="Permit no operation at all.")
@asks_sandbox
def permit(
    *,
    key: str,
    streams: tuple[str, ...],
    operations: tuple[str, ...],
    nothing: bool,
    client: Client,
    as_json: bool,
) -> None:
    """Limit the access key KEY to these operations on these streams.

    An operation without a service is one of Kinesis; one that names no stream, such as ListStreams, needs the
    stream *, as in a policy of AWS. The KEY * is for every key that is not listed: AWS's services do not know
    such a key, and what it is not permitted is refused as they refuse a wrong key.
    """
    from rdss_sandbox.shapes.access import StreamPermission

    if nothing and operations:
        raise click.UsageError("--nothing permits no operation, so --operation cannot be given, too")
    asked = () if nothing else operations or ("*",)
    permitted = client.access.permit(key, StreamPermission(streams or ("*",), asked))
    allowed, places = " ".join(permitted.operations), " ".join(permitted.streams)
    may = f"{allowed} on {places}, and nothing else" if allowed else "nothing"
    print_line(permitted, f"{_named(key)} may do {may}", as_json=as_json)


@access.command()
@click.argument("key")
@asks_sandbox
def forget(key: str, client: Client, as_json: bool) -> None:
    """Remove the limits of the access key KEY."""
    forgotten = client.access.forget(key)
    print_line(forgotten, f"{_named(key)} may do everything again", as_json=as_json)


def _named(key: str) -> str:
    return "a key that is not listed" if key == "*" else f"the access key {key}"
