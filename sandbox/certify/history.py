"""The history of a run: everything that happened between the kit and the client, for the clauses to judge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum
from math import inf
from typing import Final, TypeVar

import msgspec

from rdss_sandbox.shapes import recorded_exchange
from rdss_sandbox.shapes.tape import TapedChannel, TapedMessage
from rdss_sandbox.shapes.trace import IteratorRequest, Put, Read, Settlement, Subscription, TraceItem
from schemas.bound import CONTRACT

_Name = TypeVar("_Name", bound=str | None)
TIMED_OUT: Final = "timed out"
ENOUGH_DELIVERIES: Final = 5
"""Of so many messages a client that tells at all has told of one."""


class Level(IntEnum):
    """How bad the days are: duplicates and restarts; resharding and refusals; deaths and the contract."""

    BRONZE = 1
    SILVER = 2
    GOLD = 3


class OfferedMessage(msgspec.Struct, frozen=True):
    """A whole, valid message for the client. ``digest`` is the SHA-256 of its body's text."""

    message_id: str
    digest: str
    level: Level
    at: float


class SentSequence(msgspec.Struct, frozen=True):
    """A message that was cut into parts; ``digest`` is the SHA-256 of the whole body's text."""

    message_ids: tuple[str, ...]
    digest: str
    at: float

    @property
    def message_id(self) -> str:
        return self.message_ids[0]


class SentBad(msgspec.Struct, frozen=True):
    """A message to reject with a code; ``queue`` is the stream where it must end."""

    message_id: str
    code: str
    queue: str
    at: float


class SentOlder(msgspec.Struct, frozen=True):
    """A message in the form of an older version of the specification, which a consumer can upgrade."""

    message_id: str
    version: str
    at: float


class Returned(msgspec.Struct, frozen=True):
    """A message that the client put on ``stream``, as it was put on the client's input stream."""

    message_id: str
    stream: str
    at: float


class Statement(msgspec.Struct, frozen=True):
    """What a line of the client's output says: this message is processed, or the broker has it.

    ``line`` is the number of the line; one that tells a whole batch has several messages.
    """

    message_id: str
    at: float
    life: int
    digest: str | None = None
    line: int = 0


class Life(msgspec.Struct):
    """One start of the client. ``end`` is SIGTERM, SIGKILL, ``itself``, ``hung`` or ``timed out``.

    One that is ``hung`` did nothing at SIGTERM. What had ``timed out`` was ended by what runs it, since its
    answer was due.

    ``stage`` is the stage during which it ended, ``clause`` the clause that was under way, and ``output`` its
    last lines on standard error.
    """

    number: int
    began: float
    ended: float | None = None
    end: str = ""
    code: int | None = None
    stage: str = ""
    clause: str = ""
    level: Level = Level.BRONZE
    output: tuple[str, ...] = ()


class Injected(msgspec.Struct, frozen=True):
    """What a fault did to a message, or to the call that carried it."""

    at: float
    type: str
    message_id: str | None
    level: Level


class ShardChange(msgspec.Struct, frozen=True):
    """A split or a merge; ``unread`` counts the parents' records that the client had not been given."""

    at: float
    action: str
    parents: tuple[str, ...]
    children: tuple[str, ...]
    unread: int
    level: Level


class StageEnd(msgspec.Struct, frozen=True):
    """The end of a stage. ``life`` is the number of the client's start that ran then.

    ``impatient`` says that the client was still at work then: what is missing is not known to be lost.
    """

    at: float
    name: str
    life: int
    impatient: bool = False


class FinalShard(msgspec.Struct, frozen=True):
    """A shard at the end of the run, with its records as (sequence number, messageId).

    A queue of RabbitMQ stands here with all that the kit ever put on it.
    """

    id: str
    parents: tuple[str, ...]
    records: tuple[tuple[str, str | None], ...]


class KeptRecord(msgspec.Struct, frozen=True):
    """A record that a stream holds. ``life`` is the client's start that ran when it was found there."""

    message_id: str | None
    data: bytes
    life: int = 0


@dataclass(slots=True)
class History:
    """A run as it happened. ``stream`` is the stream, or queue, that the client reads, or writes.

    ``poison`` are the numbers of what the kit put on a queue that is no message, ``taken_away`` those of
    poison that the kit removed, since a client could not get past it, and ``left`` those of what a queue
    still held at the end. ``put_at`` has the time at which the kit put each record of the input, by (shard,
    sequence number). ``ordered`` has the messageIds that were put under one key, in order, and ``failures``
    how often the client said that it failed, by what it said. ``recorded`` is what the sandbox's own
    diagnosis recorded of a stream's clients, and ``epoch`` the time of ``began`` on its clock. ``taped`` has
    the messages of the input, and its shards, as a tape has them.
    """

    stream: str
    began: float
    sent: list[OfferedMessage] = field(default_factory=list)
    sequences: list[SentSequence] = field(default_factory=list)
    bad: list[SentBad] = field(default_factory=list)
    older: list[SentOlder] = field(default_factory=list)
    returned: list[Returned] = field(default_factory=list)
    told: list[Statement] = field(default_factory=list)
    exchanges: list[TraceItem] = field(default_factory=list)
    lives: list[Life] = field(default_factory=list)
    injected: list[Injected] = field(default_factory=list)
    reshards: list[ShardChange] = field(default_factory=list)
    shards: list[FinalShard] = field(default_factory=list)
    stored: list[KeptRecord] = field(default_factory=list)
    errors: list[KeptRecord] = field(default_factory=list)
    invalid: list[KeptRecord] = field(default_factory=list)
    stages: list[tuple[float, str, Level]] = field(default_factory=list)
    ends: list[StageEnd] = field(default_factory=list)
    put_at: dict[tuple[str, str], float] = field(default_factory=dict)
    poison: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    taken_away: list[str] = field(default_factory=list)
    ordered: list[tuple[str, ...]] = field(default_factory=list)
    failures: Counter[str] = field(default_factory=Counter)
    recorded: recorded_exchange.Exchange | None = None
    epoch: float = 0.0
    taped: list[TapedMessage | TapedChannel] = field(default_factory=list)

    def reads(self) -> list[Read]:
        """The reads of the stream, in order."""
        return [each for each in self.exchanges if isinstance(each, Read) and each.stream == self.stream]

    def iterator_requests(self) -> list[IteratorRequest]:
        """The GetShardIterator calls for the stream, in order."""
        items = (each for each in self.exchanges if isinstance(each, IteratorRequest))
        return [each for each in items if each.stream == self.stream]

    def puts(self) -> list[Put]:
        """The calls that put records into the stream, in order."""
        return [each for each in self.exchanges if isinstance(each, Put) and each.stream == self.stream]

    def puts_elsewhere(self) -> list[Put]:
        """The calls that put records into other streams, such as the error queue, in order."""
        return [each for each in self.exchanges if isinstance(each, Put) and each.stream != self.stream]

    def subscriptions(self) -> list[Subscription]:
        """The consumers that the client started on the queue, in order."""
        items = (each for each in self.exchanges if isinstance(each, Subscription))
        return [each for each in items if each.queue == self.stream]

    def settlements(self) -> list[Settlement]:
        """The acks, nacks and rejects of what the queue delivered, in order."""
        return [each for each in self.exchanges if isinstance(each, Settlement) and each.queue == self.stream]

    def times_told(self) -> Counter[str]:
        """How many times the client told of each message."""
        return Counter(each.message_id for each in self.told)

    def tells_nothing(self) -> bool:
        """Whether the client told of none of the messages that it got."""
        delivered = {each.message_id for read in self.reads() for each in read.records}
        return not self.told and len(delivered) >= ENOUGH_DELIVERIES

    def end_of(self, at: float) -> StageEnd:
        """The end of the stage that was under way at a time."""
        return next((end for end in self.ends if end.at >= at), StageEnd(inf, "", len(self.lives)))

    def told_in_time(self) -> set[str]:
        """The messages that a start told which ran at the end of their stage, or before.

        What a later start repairs was broken. Messages of an impatient stage count as told.
        """
        return self._list_in_time((each.message_id, each.life) for each in self.told)

    def stored_in_time(self) -> set[str]:
        """The messages that were in the stream when their part of the producer's file was done, likewise."""
        return self._list_in_time((each.message_id, each.life) for each in self.stored)

    def _list_in_time(self, passages: Iterable[tuple[str | None, int]]) -> set[str]:
        first = _find_first(passages)
        ends = ((sent.message_id, self.end_of(sent.at)) for sent in self.sent)
        return {name for name, end in ends if end.impatient or first.get(name, inf) <= end.life}

    def unread(self, shard: FinalShard) -> list[tuple[str, str | None]]:
        """The records of a shard that were not delivered in time, as in ``told_in_time``."""
        reads = (read for read in self.reads() if read.shard == shard.id)
        first = _find_first((each.sequence_number, read.life) for read in reads for each in read.records)
        ends = ((each, self.end_of(self.put_at.get((shard.id, each[0]), 0.0))) for each in shard.records)
        return [each for each, end in ends if not end.impatient and first.get(each[0], inf) > end.life]

    def rejected(self) -> dict[str | None, list[tuple[str, str | None]]]:
        """The queue and the errorCode of each message that the client rejected, by messageId."""
        found: dict[str | None, list[tuple[str, str | None]]] = {}
        for queue, stored in (("error", self.errors), ("invalid", self.invalid)):
            for each in stored:
                found.setdefault(each.message_id, []).append((queue, CONTRACT.peek(each.data).error_code))
        return found

    def kills(self) -> list[Life]:
        """The lives that the kit ended with SIGKILL."""
        return [life for life in self.lives if life.end == "SIGKILL"]

    def stage_at(self, at: float) -> str:
        """The name of the stage at this time; empty before the first."""
        return next((name for began, name, _ in reversed(self.stages) if began <= at), "")

    def level_at(self, at: float) -> Level:
        """The level of the stage at this time."""
        return next((level for began, _, level in reversed(self.stages) if began <= at), Level.BRONZE)


def _find_first(passages: Iterable[tuple[_Name, int]]) -> dict[_Name, int]:
    """The first start of the client in which each was seen, from pairs of both."""
    first: dict[_Name, int] = {}
    for name, life in passages:
        first[name] = min(life, first.get(name, life))
    return first
