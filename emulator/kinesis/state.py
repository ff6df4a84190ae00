"""What the engine knows about streams besides their records, as it is kept in the journal.

Each change appends the whole new state of what changed, so that reading the
journal back is taking the last word on each.
"""

from __future__ import annotations

import msgspec

from emulator.kinesis import shard_ids
from emulator.kinesis.scope import Scope


class ShardState(msgspec.Struct, omit_defaults=True):
    """A shard: its lineage, its hash range (decimal, both ends in it), when it began and ended (ms)."""

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
    """An enhanced fan-out consumer; ``created`` and ``ready`` in seconds since the epoch."""

    name: str
    created: float
    ready: float
    tags: dict[str, str] = {}


class Split(msgspec.Struct, tag=True):
    """One shard becomes two, the upper one from the hash key ``at`` (decimal) on."""

    shard: str
    at: str


class Merge(msgspec.Struct, tag=True):
    """Two shards with adjacent ranges become one."""

    shard: str
    adjacent: str


class Scale(msgspec.Struct, tag=True):
    """Splits and merges until there are ``target`` open shards of equal size."""

    target: int


Reshard = Split | Merge | Scale


class StreamState(msgspec.Struct, omit_defaults=True, tag="stream", tag_field="kind"):
    """A stream. ``created`` is in seconds since the epoch, ``trimmed`` in ms: nothing before that is left.

    ``number`` tells this stream from an earlier one of the same name. Until
    ``busy_until`` (seconds) its status is ``busy``, then ACTIVE; then, and not
    before, it has the shards that ``coming`` makes.
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
