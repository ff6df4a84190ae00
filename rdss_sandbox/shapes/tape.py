"""A tape: what passed between clients and channels, entry by entry, in the order of time.

A tape file has these entries in MessagePack, in compressed blocks; the ``events.ndjson`` of a certificate has
them as lines of JSON. ``at`` is in seconds since the epoch by the clock of who recorded, in a certificate in
seconds of its run; ``latency`` is in real seconds, from the call to its answer, and 0 where it is not known.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import msgspec

from rdss_sandbox.text.timestamps import LATEST

TapeTime: TypeAlias = Annotated[float, msgspec.Meta(ge=0, le=LATEST)]
"""A time that clocks can show: they end with the year 9998."""


class TapedMessage(msgspec.Struct, frozen=True, omit_defaults=True, tag="message"):
    """A message that a channel took: a record of a stream, or a publish to an exchange or a queue.

    ``body`` is its bytes, with headers of AMQP as the contract writes both as one text; None where bodies are
    not kept. ``size`` is the length that it came with. ``key`` is its partition key, or its routing key;
    ``number`` its sequence number. ``header`` has the fields of the contract by their names, where the body
    is not kept. ``client`` is who put it, empty where that is not known.
    """

    at: TapeTime
    channel: str
    body: bytes | None = None
    size: int = 0
    key: str = ""
    shard: str = ""
    number: str = ""
    latency: float = 0.0
    client: str = ""
    header: dict[str, Any] = {}


class TapedRead(msgspec.Struct, frozen=True, omit_defaults=True, tag="asked"):
    """What a reader asked for, and how much it was given.

    ``start`` is the type of a starting position, where one was asked for. ``ended`` says that the shard has
    no more.
    """

    at: TapeTime
    channel: str
    operation: str
    client: str = ""
    shard: str = ""
    start: str = ""
    records: int = 0
    size: int = 0
    ended: bool = False
    latency: float = 0.0


class TapedRefusal(msgspec.Struct, frozen=True, omit_defaults=True, tag="refusal"):
    """A call that the upstream refused with a ``code``.

    ``records`` counts the messages of a put that were refused, of those in the call, which are ``of``.
    """

    at: TapeTime
    channel: str
    operation: str
    code: str
    client: str = ""
    shard: str = ""
    records: int = 0
    of: int = 0
    latency: float = 0.0


class TapedShard(msgspec.Struct, frozen=True):
    """An open shard and the ends of its range of hash keys, as decimal digits."""

    id: str
    first: str
    last: str


class TapedChannel(msgspec.Struct, frozen=True, omit_defaults=True, tag="channel"):
    """A channel as it is from ``at`` on: before its first message, and after each reshard.

    ``kind`` is ``kinesis`` or ``rabbitmq``. ``shards`` are the open ones of a stream. ``operation`` is the
    operation of the AWS API that brought it about, empty where there was none.
    """

    at: TapeTime
    channel: str
    kind: str
    shards: tuple[TapedShard, ...] = ()
    operation: str = ""


class TapedLoss(msgspec.Struct, frozen=True, tag="loss"):
    """So many ``entries`` were not recorded, for the reason ``why``."""

    at: TapeTime
    entries: int
    why: str


TapeEntry: TypeAlias = TapedMessage | TapedRead | TapedRefusal | TapedChannel | TapedLoss


class TapeMark(msgspec.Struct, frozen=True, omit_defaults=True):
    """The first block of a tape. ``format`` counts up when an older version cannot read what is written.

    ``made_by`` is the version of the sandbox, ``began`` its time in seconds since the epoch, ``source`` says
    in words what was recorded. ``bodies`` says what is kept of them: ``whole``, ``redacted`` or ``none``.
    """

    tape: int
    made_by: str
    began: float
    source: str = ""
    contract: str = ""
    bodies: str = "whole"
