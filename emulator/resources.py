"""The shapes of the control API's resources, shared by its server, its client and its OpenAPI document."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

import msgspec


class ClockReading(msgspec.Struct, frozen=True):
    """``time`` in seconds since the epoch; ``speed`` in clock seconds a real second, 0 when frozen.

    ``elapsed`` counts the clock's seconds since the sandbox started and never decreases: a wait is over when
    so many have passed, whatever happened to ``time``.
    """

    time: float
    speed: float
    real: bool
    elapsed: float


class ClockChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What to do to the clock: ``advance`` takes ``seconds``, ``speed`` takes ``speed``."""

    action: Literal["freeze", "advance", "speed", "real"]
    seconds: float | None = None
    speed: float | None = None


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


class Status(msgspec.Struct, frozen=True):
    """The running sandbox: where it answers, what it holds, what to know about it.

    ``aws``, ``control``, ``amqp`` and ``queues`` are URLs (None where nothing answers), ``uptime`` real
    seconds, ``messages`` the number of messages in the index, ``events`` the newest event's id. ``topology``
    is what it was made with: its audit log and its error and invalid queues are named there.
    """

    version: str
    profile: str
    pid: int
    uptime: float
    aws: str
    control: str
    amqp: str | None
    data_dir: str
    seed: int
    clock: ClockReading
    streams: tuple[Stream, ...]
    messages: int
    events: int
    topology: Topology
    notes: tuple[str, ...]
    queues: str | None = None
    topics: str | None = None


class Version(msgspec.Struct, frozen=True):
    """The sandbox's version and that of the message specification it implements."""

    version: str
    specification: str


class Health(msgspec.Struct, frozen=True):
    """Whether it answers at all."""

    status: Literal["ok"]


class MessageRow(msgspec.Struct, frozen=True):
    """A message as the list shows it.

    ``id`` counts from 1 without gaps in the order in which messages were seen; ``time`` is when the stream
    took it, seconds since the epoch; ``size`` is bytes; what could not be read from its header is None.
    ``marks``: ``duplicate`` (its messageId, or without one its payload, was in this stream before),
    ``retried`` (a duplicate whose payload differs from the one before: its sender made it anew), ``oversize``
    (over 1,000,000 bytes), ``late`` (taken after its expirationTimestamp, or more than a minute after its
    publishedTimestamp).
    """

    id: int
    time: float
    stream: str
    shard: str
    sequence_number: str
    partition_key: str
    message_id: str | None
    message_type: str | None
    message_class: str | None
    sequence: str | None
    position: int | None
    total: int | None
    size: int
    code: str | None
    tenant: int | None
    version: str | None
    marks: tuple[str, ...]


class MessagePage(msgspec.Struct, frozen=True):
    """Some messages; ``total`` is how many match the filter, ``last`` the highest id, matching or not."""

    messages: tuple[MessageRow, ...]
    total: int
    last: int


class MessageDetail(MessageRow, frozen=True):
    """A message whole.

    ``header`` and ``body`` are None when the message is not JSON of that form; ``raw`` is its text, or None
    for bytes that are not UTF-8, which are in ``raw_base64``; both are None once the stream let go of it.
    ``events`` are those that name its messageId.
    """

    header: dict[str, Any] | None = None
    body: Any = None
    raw: str | None = None
    raw_base64: str | None = None
    events: tuple[dict[str, Any], ...] = ()


class Count(msgspec.Struct, frozen=True):
    """How many messages have this ``value``; None is for those without one."""

    value: str | None
    count: int


class Counts(msgspec.Struct, frozen=True):
    """Counts of messages by one of their fields, the most frequent first."""

    counts: tuple[Count, ...]


class NewMessage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A message to send as it is; ``data`` in base64; ``key`` is the messageId when left out."""

    stream: str
    data: bytes
    key: str | None = None


class Sent(msgspec.Struct, frozen=True):
    """Where a message was put."""

    stream: str
    shard: str
    sequence_number: str


class SequenceRow(msgspec.Struct, frozen=True):
    """A message in several parts, as far as they came in one stream.

    ``positions`` are those that are there, at most the first 10,000; ``parts`` counts every message, repeated
    ones too; ``first`` and ``last`` are when the earliest and the latest came, ``expires`` the earliest
    expirationTimestamp of a part, if any has one, in seconds since the epoch.
    """

    sequence: str
    stream: str
    message_type: str | None
    total: int
    positions: tuple[int, ...]
    parts: int
    size: int
    first: float
    last: float
    expires: float | None

    @property
    def complete(self) -> bool:
        """Whether every position came."""
        return len({position for position in self.positions if 0 < position <= self.total}) == self.total


class SequencePage(msgspec.Struct, frozen=True):
    """Some sequences; ``total`` is how many there are."""

    sequences: tuple[SequenceRow, ...]
    total: int


class EventPage(msgspec.Struct, frozen=True):
    """Events, oldest first, each ``{"id", "time", "kind", ...}``; ``last`` is the newest id there is."""

    events: tuple[dict[str, Any], ...]
    last: int


class Fault(msgspec.Struct, frozen=True):
    """A fault as it stands; ``injected`` counts what it did."""

    name: str
    type: str
    channel: str = "*"
    direction: str = "publish"
    toxicity: float = 1.0
    attributes: dict[str, Any] = {}
    when: dict[str, Any] = {}
    limit: int | None = None
    enabled: bool = True
    injected: int = 0


class NewFault(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A fault to add; what is left out is the type's default, the name included."""

    type: str
    name: str | None = None
    channel: str | None = None
    direction: str | None = None
    toxicity: float | None = None
    attributes: dict[str, Any] = {}
    when: dict[str, Any] = {}
    limit: int | None = None
    enabled: bool = True


class FaultChange(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What to change of a fault; attributes given here are put over those it has."""

    channel: str | None = None
    direction: str | None = None
    toxicity: float | None = None
    attributes: dict[str, Any] | None = None
    when: dict[str, Any] | None = None
    limit: int | None = None
    enabled: bool | None = None


class FaultList(msgspec.Struct, frozen=True):
    """The faults in force, in the order they were added."""

    faults: tuple[Fault, ...]


class FaultAttribute(msgspec.Struct, frozen=True):
    """A setting of a fault type; ``type``: number, integer, text, flag, choice or duration (seconds).

    A number is from ``least`` to ``most``, a duration from ``least`` to ``most`` seconds; ``longest`` is how
    many characters a text may have.
    """

    name: str
    type: str
    default: Any = None
    help: str = ""
    unit: str = ""
    choices: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None
    longest: int | None = None


class FaultType(msgspec.Struct, frozen=True):
    """A kind of fault that can be added: where it strikes, on what kinds of channel it means something."""

    type: str
    help: str
    directions: tuple[str, ...]
    channels: tuple[str, ...] = ()
    attributes: tuple[FaultAttribute, ...] = ()


class FaultTypes(msgspec.Struct, frozen=True):
    """The registry of faults."""

    types: tuple[FaultType, ...]


StreamName: TypeAlias = Annotated[str, msgspec.Meta(pattern=r"^[a-zA-Z0-9_.-]{1,128}$")]
BucketName: TypeAlias = Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$")]


class AuditTap(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The audit log: messages of the streams in ``taps`` go to ``stream`` and from there into ``bucket``."""

    stream: StreamName = "audit"
    bucket: BucketName = "rdss-audit"
    taps: tuple[StreamName, ...] = ("input", "output", "error", "invalid")


TransitionSeconds: TypeAlias = Annotated[float, msgspec.Meta(ge=0, le=86_400)]


class Topology(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Streams by name with the number of shards each is made with, and buckets, that shall be there.

    ``archives`` says which stream's messages are kept in which bucket: the error and the invalid queue.
    Their messages can be claimed, as can those of the streams that ``claimable`` names. When a sandbox starts
    with it, ``transition_seconds`` of the clock is how long streams are CREATING, UPDATING and DELETING.
    """

    streams: dict[StreamName, Annotated[int, msgspec.Meta(ge=1, le=10_000)]] = {}
    buckets: tuple[BucketName, ...] = ()
    audit: AuditTap | None = None
    archives: dict[StreamName, BucketName] = {}
    claimable: tuple[StreamName, ...] = ()
    transition_seconds: TransitionSeconds = 0.0


class Populated(msgspec.Struct, frozen=True):
    """What had to be made for it."""

    streams: tuple[str, ...]
    buckets: tuple[str, ...]


class Bucket(msgspec.Struct, frozen=True):
    """A bucket; ``created`` in seconds since the epoch."""

    name: str
    created: float


class BucketList(msgspec.Struct, frozen=True):
    """Every bucket, by name."""

    buckets: tuple[Bucket, ...]


class ObjectRow(msgspec.Struct, frozen=True):
    """An object in a bucket; ``size`` in bytes, ``modified`` in seconds since the epoch."""

    key: str
    size: int
    modified: float


class ObjectPage(msgspec.Struct, frozen=True):
    """Objects by key; ``next`` is the ``after`` of the next page, None on the last."""

    objects: tuple[ObjectRow, ...]
    next: str | None


AuditPlace: TypeAlias = Literal["stream", "bucket"]
"""Where entries of the audit log lie: the newest in its stream, and all that were delivered in its bucket."""


class AuditStatus(msgspec.Struct, frozen=True):
    """How far the audit log is: messages copied to ``stream``, delivered to ``bucket``, still ``pending``."""

    stream: str
    bucket: str
    taps: tuple[str, ...]
    copied: int
    delivered: int
    pending: int
    objects: int


class Problem(msgspec.Struct, frozen=True):
    """What was wrong: a word for programs, a sentence for people."""

    code: str
    message: str


class Refusal(msgspec.Struct, frozen=True):
    """Every answer that is not a success."""

    error: Problem
