"""``sandbox reshard``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from sandbox.cli.connection import connect, control_option
from sandbox.cli.printing import json_option, print_rows

if TYPE_CHECKING:
    from rdss_sandbox.shapes.streams import Reshard


@click.group()
def reshard() -> None:
    """Split, merge or scale a stream's shards, while messages pass."""


@reshard.command()
@click.argument("stream")
@click.argument("shard", required=False)
@click.option("--at", "hash_key", metavar="HASHKEY", help="Where to split.  [default: the middle]")
@control_option
@json_option
def split(stream: str, shard: str | None, hash_key: str | None, control: str | None, as_json: bool) -> None:
    """Split SHARD of STREAM (its id or number), or the widest."""
    from rdss_sandbox.shapes.streams import Reshard

    _do(control, stream, Reshard("split", shard=shard, hash_key=hash_key), as_json)


@reshard.command()
@click.argument("stream")
@click.argument("shard", required=False)
@click.argument("adjacent", required=False)
@control_option
@json_option
def merge(stream: str, shard: str | None, adjacent: str | None, control: str | None, as_json: bool) -> None:
    """Merge SHARD of STREAM with ADJACENT, with its narrower neighbour, or the two narrowest."""
    from rdss_sandbox.shapes.streams import Reshard

    _do(control, stream, Reshard("merge", shard=shard, adjacent=adjacent), as_json)


@reshard.command()
@click.argument("stream")
@click.argument("count", type=click.IntRange(min=1))
@control_option
@json_option
def scale(stream: str, count: int, control: str | None, as_json: bool) -> None:
    """Scale STREAM to COUNT shards of the same width."""
    from rdss_sandbox.shapes.streams import Reshard

    _do(control, stream, Reshard("scale", count=count), as_json)


def _do(control: str | None, stream: str, change: Reshard, as_json: bool) -> None:
    with connect(control) as client:
        found = client.reshard(stream, change)
    rows = (
        (
            s.id,
            "open" if s.open else "closed",
            " ".join(s.parents) or None,
            s.records,
            s.starting_hash_key,
        )
        for s in found.shards
    )
    print_rows(found, ("shard", "state", "parents", "records", "from hash key"), rows, as_json=as_json)
