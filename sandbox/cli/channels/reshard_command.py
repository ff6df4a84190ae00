from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rdss_sandbox.shapes.streams import Reshard, StreamDetail
from sandbox.cli.options.asking import shows
from sandbox.cli.output.printing import print_table

if TYPE_CHECKING:
    from rdss_sandbox.client import Client


@click.group()
def reshard() -> None:
    """Split, merge or scale a stream's shards, while messages pass."""


def _list_shards(found: StreamDetail) -> None:
    rows = (
        (s.id, "open" if s.open else "closed", " ".join(s.parents) or None, s.records, s.starting_hash_key)
        for s in found.shards
    )
    print_table(("shard", "state", "parents", "records", "from hash key"), rows)


@reshard.command()
@click.argument("stream")
@click.argument("shard", required=False)
@click.option("--at", "hash_key", metavar="HASHKEY", help="Where to split.  [default: the middle]")
@shows(_list_shards)
def split(stream: str, shard: str | None, hash_key: str | None, client: Client) -> StreamDetail:
    """Split SHARD of STREAM (its id or number), or the widest."""
    return client.reshard(stream, Reshard("split", shard=shard, hash_key=hash_key))


@reshard.command()
@click.argument("stream")
@click.argument("shard", required=False)
@click.argument("adjacent", required=False)
@shows(_list_shards)
def merge(stream: str, shard: str | None, adjacent: str | None, client: Client) -> StreamDetail:
    """Merge SHARD of STREAM with ADJACENT.

    Without ADJACENT it is merged with its narrower neighbour; without SHARD, the two narrowest are merged.
    """
    return client.reshard(stream, Reshard("merge", shard=shard, adjacent=adjacent))


@reshard.command()
@click.argument("stream")
@click.argument("count", type=click.IntRange(min=1))
@shows(_list_shards)
def scale(stream: str, count: int, client: Client) -> StreamDetail:
    """Scale STREAM to COUNT shards of the same width."""
    return client.reshard(stream, Reshard("scale", count=count))
