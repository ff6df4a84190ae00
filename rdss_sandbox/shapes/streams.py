"""Streams with their shards, and changes of these."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

AMQP_PREFIX: Final = "amqp:"
"""Before an exchange's or queue's name, so that it is not taken for the Kinesis stream of that name."""


class Stream(msgspec.Struct, frozen=True):
    """A stream in one line; ``bytes`` is the data of its records.

    ``unread`` are the records, of children that nobody reads too, that no reader has passed since the sandbox
    started; None where nobody has read the stream, or an upstream has it.
    """

    name: str
    arn: str
    status: str
    open_shards: int
    closed_shards: int
    records: int
    bytes: int
    unread: int | None = None


class Shard(msgspec.Struct, frozen=True):
    """A shard and its lineage; hash keys and sequence numbers are decimal text, as in the AWS API.

    ``unread`` is as for ``Stream``.
    """

    id: str
    parents: tuple[str, ...]
    children: tuple[str, ...]
    starting_hash_key: str
    ending_hash_key: str
    starting_sequence_number: str
    ending_sequence_number: str | None
    open: bool
    records: int
    bytes: int
    created: float
    unread: int | None = None


class StreamDetail(Stream, frozen=True):
    """A stream with every shard it has or had, oldest first."""

    shards: tuple[Shard, ...] = ()


class StreamList(msgspec.Struct, frozen=True):
    """Every stream of the sandbox's own account and region, by name."""

    streams: tuple[Stream, ...]


class Reshard(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A change of shards: split one, merge it with an ``adjacent`` one, or scale to ``count``.

    A split is at ``hash_key``, or in the middle. Without ``shard`` the widest open shard is split, or the two
    narrowest neighbours are merged.
    """

    action: Literal["split", "merge", "scale"]
    shard: str | None = None
    adjacent: str | None = None
    hash_key: str | None = None
    count: int | None = None
