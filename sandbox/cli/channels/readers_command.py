from __future__ import annotations

from typing import TYPE_CHECKING

import click

from sandbox.cli.options.control_connection import asks_sandbox
from sandbox.cli.output.printing import print_json, print_table

if TYPE_CHECKING:
    from rdss_sandbox.client import Client
    from rdss_sandbox.shapes.readers import ReaderList


@click.command()
@click.argument("stream", required=False)
@asks_sandbox
def readers(stream: str | None, client: Client, as_json: bool) -> None:
    """Show who reads which shard of STREAM, or of every stream, and what nobody has read.

    A client is named by its access key's id and its SDK, so AWS_ACCESS_KEY_ID=my-consumer names one; any key
    is accepted. KCL's workers are shown with the leases that they hold.
    """
    found = client.readers(stream)
    findings = client.diagnosis(stream=stream).findings
    streams = [each.name for each in client.status().streams]
    if stream is not None and stream not in streams:
        there = ", ".join(streams) or "none"
        click.echo(f"sandbox: note: no stream is named {stream!r}; there are: {there}", err=True)
    if as_json:
        print_json(found)
        return
    if not found.known:
        click.echo("an upstream has the streams: clients that go past this sandbox are not seen")
    _print_readers(found)
    for name, count in found.unread.items():
        click.echo(f"{name}: {count} records that nobody has read")
    if findings:
        click.echo(f"{len(findings)} findings about clients; sandbox diagnose shows them")


def _print_readers(found: ReaderList) -> None:
    rows = [
        (who.client, who.stream, who.shard, who.behind, round(who.late, 1), who.records, who.reads)
        for who in found.readers
    ]
    if rows:
        print_table(("client", "stream", "shard", "behind", "late", "records", "reads"), rows)
    else:
        click.echo("nobody reads now")
    if found.leases:
        leases = [
            (each.table, each.stream or "-", each.shard, each.owner or "-", each.checkpoint)
            for each in found.leases
        ]
        print_table(("lease of", "stream", "shard", "worker", "checkpoint"), leases)
