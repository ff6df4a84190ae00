from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rdss_sandbox.text.timestamps import timestamp
from sandbox.cli.options.connection import asks_sandbox
from sandbox.cli.output.printing import print_json, print_line, print_table

if TYPE_CHECKING:
    from rdss_sandbox.client import Client


@click.group()
def snapshot() -> None:
    """Save the whole state of the sandbox, and load it again and again.

    A snapshot has streams, buckets, tables, queues, topics, asynchronous messages, the clock, faults and
    permissions. It is in the data directory of the sandbox; without one it ends with the sandbox.
    """


@snapshot.command()
@click.argument("name")
@asks_sandbox
def save(name: str, client: Client, as_json: bool) -> None:
    """Save the present state as NAME, in place of an earlier snapshot of that name."""
    saved = client.snapshots.save(name)
    print_line(
        saved,
        f"saved {name}: {saved.records} records in streams, {saved.bytes / 1e6:.1f} MB",
        as_json=as_json,
    )


@snapshot.command()
@click.argument("name")
@asks_sandbox
def load(name: str, client: Client, as_json: bool) -> None:
    """Replace the state of the running sandbox by the snapshot NAME. What it holds now is lost."""
    loaded = client.snapshots.load(name)
    if as_json:
        print_json(loaded)
        return
    at, seconds = timestamp(loaded.snapshot.saved), loaded.seconds
    click.echo(f"loaded {name}, as it was saved at {at}, in {seconds:.2f} s")
    for line in loaded.left_out:
        click.echo(line, err=True)


@snapshot.command("list")
@asks_sandbox
def list_(client: Client, as_json: bool) -> None:
    """List the snapshots."""
    found = client.snapshots.list()
    if as_json:
        print_json(found)
        return
    rows = (
        (
            each.name,
            "" if each.trouble else timestamp(each.saved),
            "" if each.trouble else str(each.records),
            f"{each.bytes / 1e6:.1f} MB",
        )
        for each in found.snapshots
    )
    print_table(("snapshot", "saved", "records", "size"), rows)
    for each in found.snapshots:
        if each.trouble:
            click.echo(each.trouble, err=True)
    if found.folder is None and found.snapshots:
        click.echo("they end with this sandbox: start it with --data-dir to keep them", err=True)


@snapshot.command()
@click.argument("name")
@asks_sandbox
def remove(name: str, client: Client, as_json: bool) -> None:
    """Remove the snapshot NAME."""
    left = client.snapshots.remove(name)
    print_line(left, f"removed {name}", as_json=as_json)
