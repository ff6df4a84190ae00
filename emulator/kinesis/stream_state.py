"""The states of streams and accounts, without records, as the journal keeps them.

Each change stores the whole new state under the key of its stream or account.
"""

from __future__ import annotations

import msgspec

from emulator.kinesis import shard_ids
from emulator.kinesis.scope import Scope


class ShardState(msgspec.Struct, omit_defaults=True):
    """A shard: its lineage, its hash key range (decimal, inclusive), when it was created and closed (ms)."""

    index: int
    starting_hash_key: str
    ending_hash_key: str
    epoch: int
    created: int
    parent: str | None = None
    adjacent_parent: str | None = None
    closed: int | None = None
    ending_sequence_number: str | None = None

    @property
    def id(self) -> str:
        return shard_ids.of_number(self.index)


class ConsumerState(msgspec.Struct, omit_defaults=True):
    """An enhanced fan-out consumer. It is ACTIVE from ``ready`` on; times in seconds since the epoch."""

    name: str
    created: float
    ready: float
    tags: dict[str, str] = {}


class Split(msgspec.Struct, tag=True):
    """Split one shard into two. The upper one begins at the hash key ``at`` (decimal)."""

    shard: str
    at: str


class Merge(msgspec.Struct, tag=True):
    """Merge two shards with adjacent hash key ranges into one."""

    shard: str
    adjacent: str


class Scale(msgspec.Struct, tag=True):
    """Split and merge until there are ``target`` open shards of equal size."""

    target: int


Reshard = Split | Merge | Scale


class StreamState(msgspec.Struct, omit_defaults=True, tag="stream", tag_field="kind"):
    """A stream. ``created`` is in seconds since the epoch, ``trimmed`` (the trim horizon) in ms.

    ``number`` differs from that of earlier streams with the same name. The status is ``busy`` until
    ``busy_until`` (seconds), then ACTIVE. The resharding ``coming`` takes effect at that time. ``leap`` is
    how often snapshots had been loaded when this stream was, as ``Segments`` counts it.
    """

    name: str
    account: str
    region: str
    created: float
    number: int
    id: str
    shards: list[ShardState] = []
    next_shard: int = 0
    mode: str = "PROVISIONED"
    retention_hours: int = 24
    trimmed: int = 0
    busy: str = "ACTIVE"
    busy_until: float = 0.0
    coming: Reshard | None = None
    encryption: str = "NONE"
    key_id: str | None = None
    metrics: list[str] = []
    tags: dict[str, str] = {}
    policies: dict[str, str] = {}
    consumers: list[ConsumerState] = []
    max_record_kib: int = 1024
    warm_mibps: int | None = None
    distribution: str = "USER_PARTITION_KEY"
    scalings: list[float] = []
    leap: int = 0

    @property
    def scope(self) -> Scope:
        return Scope(self.account, self.region)


class StreamGone(msgspec.Struct, tag="gone", tag_field="kind"):
    """The stream with this number was deleted."""

    number: int


class AccountState(msgspec.Struct, omit_defaults=True, tag="account", tag_field="kind"):
    """Settings of an account in a region; times in seconds since the epoch."""

    account: str
    region: str
    commitment: str = "DISABLED"
    started: float | None = None
    ended: float | None = None
    earliest_end: float | None = None

    @property
    def scope(self) -> Scope:
        return Scope(self.account, self.region)


Change = StreamState | StreamGone | AccountState

encode = msgspec.json.Encoder().encode
decode = msgspec.json.Decoder(Change).decode


def key_of(change: Change) -> bytes:
    """The key of the stream or account that changes."""
    name = "/".join(change.scope) if isinstance(change, AccountState) else str(change.number)
    return name.encode()


def read_old(payload: bytes, states: dict[bytes, bytes]) -> None:
    """Apply an entry as it was when the journal had no keys: a change alone."""
    states[key_of(decode(payload))] = payload
