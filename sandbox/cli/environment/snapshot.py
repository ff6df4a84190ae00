from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rdss_sandbox.api.snapshots import Snapshots
from rdss_sandbox.text.figures import size
from rdss_sandbox.text.timestamps import timestamp
from sandbox.cli.options.asking import asks
from sandbox.cli.output.printing import print_table

if TYPE_CHECKING:
    from rdss_sandbox.shapes.snapshots import Loaded, Snapshot, SnapshotList


@click.group()
def snapshot() -> None:
    """Save the whole state of the sandbox, and load it again and again.

    A snapshot has streams, buckets, tables, the clock, faults, permissions, queues and topics. It is kept
    in the data directory; with --data-dir :memory: it is gone when the sandbox ends.
    """


@snapshot.command()
@asks(Snapshots.save)
def save(saved: Snapshot) -> None:
    """Save the present state as NAME, in place of an earlier snapshot of that name."""
    click.echo(f"saved {saved.name}: {saved.records} records in streams, {size(saved.bytes)}")


@snapshot.command()
@asks(Snapshots.load)
def load(loaded: Loaded) -> None:
    """Replace the state of the running sandbox by the snapshot NAME. What it holds now is lost."""
    found = loaded.snapshot
    click.echo(f"loaded {found.name}, as it was saved at {timestamp(found.saved)}, in {loaded.seconds:.2f} s")
    for line in loaded.left_out:
        click.echo(line, err=True)


@snapshot.command("list")
@asks(Snapshots.list)
def list_(found: SnapshotList) -> None:
    """List the snapshots."""
    rows = (
        (
            each.name,
            *(("", "") if each.trouble else (timestamp(each.saved), str(each.records))),
            size(each.bytes),
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
@asks(Snapshots.remove)
def remove(_left: SnapshotList) -> None:
    """Remove the snapshot NAME."""
    click.echo(f"removed {click.get_current_context().params['name']}")
