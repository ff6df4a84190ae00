from __future__ import annotations

from typing import TYPE_CHECKING

import click

from sandbox.cli.options.connection import asks_sandbox
from sandbox.cli.output.printing import print_rows

if TYPE_CHECKING:
    from rdss_sandbox.client import Client
    from rdss_sandbox.shapes.streams import Reshard


@click.group()
def reshard() -> None:
    """Split, merge or scale a stream's shards, while messages pass."""


@reshard.command()
@click.argument("stream")
@click.argument("shard", required=False)
@click.option("--at", "hash_key", metavar="HASHKEY", help="Where to split.  [default: the middle]")
@asks_sandbox
def split(stream: str, shard: str | None, hash_key: str | None, client: Client, as_json: bool) -> None:
    """Split SHARD of STREAM (its id or number), or the widest."""
    from rdss_sandbox.shapes.streams import Reshard

    _do(client, stream, Reshard("split", shard=shard, hash_key=hash_key), as_json)


@reshard.command()
@click.argument("stream")
@click.argument("shard", required=False)
@click.argument("adjacent", required=False)
@asks_sandbox
def merge(stream: str, shard: str | None, adjacent: str | None, client: Client, as_json: bool) -> None:
    """Merge SHARD of STREAM with ADJACENT, with its narrower neighbour, or the two narrowest."""
    from rdss_sandbox.shapes.streams import Reshard

    _do(client, stream, Reshard("merge", shard=shard, adjacent=adjacent), as_json)


@reshard.command()
@click.argument("stream")
@click.argument("count", type=click.IntRange(min=1))
@asks_sandbox
def scale(stream: str, count: int, client: Client, as_json: bool) -> None:
    """Scale STREAM to COUNT shards of the same width."""
    from rdss_sandbox.shapes.streams import Reshard

    _do(client, stream, Reshard("scale", count=count), as_json)


def _do(client: Client, stream: str, change: Reshard, as_json: bool) -> None:
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
