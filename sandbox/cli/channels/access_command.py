from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rdss_sandbox.api.access import Access
from rdss_sandbox.shapes.access import KeyPermission, KeyPermissions, StreamPermission
from sandbox.cli.options.asking import asks, shows
from sandbox.cli.output.printing import print_table

if TYPE_CHECKING:
    from rdss_sandbox.client import Client


@click.group()
def access() -> None:
    """Limit access keys to streams and operations, to rehearse keys with wrong scopes.

    A limited key is denied everything else with AWS's error. Any other key may do everything, unless the key
    * is limited: then others are unknown. Signatures are not verified.
    """


@access.command("list")
@asks(Access.list)
def list_(found: KeyPermissions) -> None:
    """List the access keys with limited permissions."""
    rows = (
        (each.access_key, " ".join(each.streams), " ".join(each.operations) or "nothing")
        for each in found.permissions
    )
    print_table(("access key", "streams", "operations"), rows)


def _tell(permitted: KeyPermission) -> None:
    allowed, places = " ".join(permitted.operations), " ".join(permitted.streams)
    may = f"{allowed} on {places}, and nothing else" if allowed else "nothing"
    click.echo(f"{_name(permitted)} may do {may}")


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
@shows(_tell)
def permit(
    *, key: str, streams: tuple[str, ...], operations: tuple[str, ...], nothing: bool, client: Client
) -> KeyPermission:
    """Limit the access key KEY to these operations on these streams.

    An operation without a service is one of Kinesis; one that names no stream, such as ListStreams, needs the
    stream *, as in a policy of AWS. The KEY * is for every key that is not listed: AWS's services do not know
    such a key, and what it is not permitted is refused as they refuse a wrong key.
    """
    if nothing and operations:
        raise click.UsageError("--nothing permits no operation, so --operation cannot be given, too")
    asked = () if nothing else operations or ("*",)
    return client.access.permit(key, StreamPermission(streams or ("*",), asked))


@access.command()
@asks(Access.forget)
def forget(forgotten: KeyPermission) -> None:
    """Remove the limits of the access key KEY."""
    click.echo(f"{_name(forgotten)} may do everything again")


def _name(permitted: KeyPermission) -> str:
    key = permitted.access_key
    return "a key that is not listed" if key == "*" else f"the access key {key}"
