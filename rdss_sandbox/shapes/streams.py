"""Streams, their shards, and changes of shards."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec

AMQP_PREFIX: Final = "amqp:"
"""The prefix of an exchange's or queue's name; it sets it apart from a Kinesis stream of that name."""


class Stream(msgspec.Struct, frozen=True):
    """A stream in one line; ``bytes`` is the size of its records' data.

    ``unread`` is the number of records that no reader has read since the sandbox started: those of shards
    without a reader, such as children, and those that a start at LATEST passed over, too. It is None where
    the stream has no reader, or an upstream has the stream.
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
    """A shard and its lineage. Hash keys and sequence numbers are decimal text, as in the AWS API.

    ``records`` are kept, of ``put`` that were ever put, with ``bytes`` of data. ``created`` is in seconds
    since the epoch; ``unread`` is as for ``Stream``.
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
    put: int = 0


class StreamDetail(Stream, frozen=True):
    """A stream with its open and closed shards, oldest first."""

    shards: tuple[Shard, ...] = ()


class StreamList(msgspec.Struct, frozen=True):
    """Every stream of the sandbox's account and region, by name."""

    streams: tuple[Stream, ...]


class Reshard(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A change of shards: ``split`` one, ``merge`` it with an ``adjacent`` one, or ``scale`` to ``count``.

    A split is at ``hash_key``, by default in the middle. By default the widest open shard is split, and the
    two narrowest neighbours are merged.
    """

    action: Annotated[Literal["split", "merge", "scale"], msgspec.Meta(examples=["split"])]
    shard: str | None = None
    adjacent: str | None = None
    hash_key: str | None = None
    count: int | None = None
