"""The stages of a run: what is done to a client, in which order, with how many messages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from sandbox.certify.clause import Clause, Group, Role
from sandbox.certify.history import Level


class Stage(msgspec.Struct, frozen=True):
    """A stage; ``messages`` are sent in it, or are taken to be its part of a producer's file.

    ``clause`` is the one that fails when the client ends by itself during the stage.
    """

    name: str
    level: Level
    group: Group
    clause: str
    messages: int


DOES: Final = {
    "quiet": "Valid messages are sent.",
    "duplicates": "Some messages are sent twice, and some are delivered twice.",
    "delays": "Some messages and some calls come late.",
    "restart": "The client is ended with SIGTERM and started again.",
    "distant duplicates": "Messages come again behind a thousand others, and after a restart.",
    "throttling": "Calls are refused for lack of throughput, also longer than an SDK tries.",
    "errors": "Calls fail with a server's error, also longer than an SDK tries, or are cut.",
    "expired iterators": "Iterators expire while there are records to read.",
    "split": "A shard is split; its backlog takes several reads, and its children can be read.",
    "merge": "Two shards are merged; their backlog takes several reads.",
    "killed with records in hand": "The client is killed at moments spread over its work on an answer.",
    "killed after telling": "The client is killed as it tells of a message, and shortly after.",
    "killed while idle": "The client is killed with nothing in hand.",
    "sequences": "Messages are too large for one record.",
    "bad messages": "Messages that have to be rejected are sent between good ones.",
    "expired messages": "Messages are sent that have expired.",
    "older versions": "Messages of older versions of the specification are sent.",
    "its own messages": "What the client published comes back to it.",
    "partial failures": "Some entries of calls are refused.",
    "killed before the answer": "The client is killed before a call and during one, taken or refused.",
    "cut connections": "Connections are cut, and channels closed, at a delivery.",
    "poison": "What is no message is sent between messages.",
    "nacked messages": "Some messages are answered with basic.nack.",
    "returned messages": "Some messages are returned, since no queue takes them, and confirmed.",
    "nacked in the contract": "Some messages are answered with basic.nack.",
}
"""What the kit does in each stage, in a sentence."""
QUIET: Final = Stage("quiet", Level.BRONZE, Group.DELIVERY, "nothing-lost", 10)
"""Valid messages and no fault: what a lesson of the course begins with. No certificate has it."""
CONSUMER: Final = (
    Stage("duplicates", Level.BRONZE, Group.DELIVERY, "nothing-lost", 20),
    Stage("delays", Level.BRONZE, Group.DELIVERY, "nothing-lost", 10),
    Stage("restart", Level.BRONZE, Group.DELIVERY, "nothing-lost", 12),
    Stage("distant duplicates", Level.BRONZE, Group.DELIVERY, "nothing-lost", 1100),
    Stage("throttling", Level.SILVER, Group.DELIVERY, "survives-throttling", 10),
    Stage("errors", Level.SILVER, Group.DELIVERY, "survives-errors", 10),
    Stage("expired iterators", Level.SILVER, Group.DELIVERY, "survives-expired-iterators", 10),
    Stage("split", Level.SILVER, Group.DELIVERY, "every-shard-read", 20),
    Stage("merge", Level.SILVER, Group.DELIVERY, "parents-before-children", 20),
    Stage("killed with records in hand", Level.GOLD, Group.DELIVERY, "resumes-after-a-kill", 60),
    Stage("killed after telling", Level.GOLD, Group.DELIVERY, "resumes-after-a-kill", 40),
    Stage("killed while idle", Level.GOLD, Group.DELIVERY, "resumes-after-a-kill", 10),
    Stage("sequences", Level.GOLD, Group.CONTRACT, "joins-sequences", 3),
    Stage("bad messages", Level.GOLD, Group.CONTRACT, "rejects-with-the-right-code", 6),
    Stage("expired messages", Level.GOLD, Group.CONTRACT, "refuses-expired", 3),
    Stage("older versions", Level.GOLD, Group.CONTRACT, "knows-older-versions", 6),
    Stage("its own messages", Level.GOLD, Group.CONTRACT, "drops-its-own-echo", 4),
)
PRODUCER: Final = (
    Stage("delays", Level.BRONZE, Group.DELIVERY, "nothing-lost", 20),
    Stage("restart", Level.BRONZE, Group.DELIVERY, "nothing-lost", 20),
    Stage("partial failures", Level.SILVER, Group.DELIVERY, "retries-failed-entries", 20),
    Stage("throttling", Level.SILVER, Group.DELIVERY, "survives-throttling", 20),
    Stage("errors", Level.SILVER, Group.DELIVERY, "survives-errors", 20),
    Stage("killed before the answer", Level.GOLD, Group.DELIVERY, "resumes-after-a-kill", 40),
    Stage("killed after telling", Level.GOLD, Group.DELIVERY, "resumes-after-a-kill", 40),
    Stage("sequences", Level.GOLD, Group.CONTRACT, "splits-sequences-rightly", 2),
    Stage("expired messages", Level.GOLD, Group.CONTRACT, "sends-nothing-expired", 2),
)
QUEUE_CONSUMER: Final = (
    *(stage for stage in CONSUMER if stage.level is Level.BRONZE),
    Stage("cut connections", Level.SILVER, Group.DELIVERY, "survives-errors", 12),
    Stage("poison", Level.SILVER, Group.DELIVERY, "dead-letters-poison", 3),
    *(stage for stage in CONSUMER if stage.level is Level.GOLD),
)
QUEUE_PRODUCER: Final = (
    *(stage for stage in PRODUCER if stage.level is Level.BRONZE),
    Stage("nacked messages", Level.SILVER, Group.DELIVERY, "publishes-again-what-was-nacked", 20),
    Stage("returned messages", Level.SILVER, Group.DELIVERY, "notices-returned-messages", 20),
    Stage("errors", Level.SILVER, Group.DELIVERY, "survives-errors", 20),
    Stage("killed before the answer", Level.GOLD, Group.DELIVERY, "resumes-after-a-kill", 40),
    Stage("killed after telling", Level.GOLD, Group.DELIVERY, "resumes-after-a-kill", 40),
    Stage("nacked in the contract", Level.GOLD, Group.CONTRACT, "keeps-the-message-id", 6),
    Stage("expired messages", Level.GOLD, Group.CONTRACT, "sends-nothing-expired", 2),
)
STREAM_STAGES: Final = {Role.CONSUMER: CONSUMER, Role.PRODUCER: PRODUCER}
QUEUE_STAGES: Final = {Role.CONSUMER: QUEUE_CONSUMER, Role.PRODUCER: QUEUE_PRODUCER}
"""Every stage of a role, in order."""


def stages(
    every: Sequence[Stage], level: Level, groups: frozenset[Group], asked: Iterable[Clause]
) -> tuple[Stage, ...]:
    """The stages up to a level, of these groups, in order, whose clauses are asked.

    The duplicates and delays of bronze are part of every run, so that a client is seen reading before
    anything worse happens to it.
    """
    ids = {each.id for each in asked}
    return tuple(
        each
        for each in every
        if each.level <= level and (each.group in groups or each is every[0]) and each.clause in ids
    )


def narrow(planned: Sequence[Stage], names: Sequence[str]) -> tuple[Stage, ...]:
    """Keep the stages that are named, in their order; ``NAME:COUNT`` also sets the number of messages.

    Raises ``ValueError`` for a stage that is not planned, and for a count that is no number from 1 on.
    """
    known = {each.name: each for each in planned}
    found = {}
    for each in names:
        name, colon, count = each.partition(":")
        if name not in known:
            raise ValueError(f"there is no stage {name!r} here; there are {', '.join(known)}")
        if colon and not (count.isascii() and count.isdigit() and int(count)):
            raise ValueError(f"{each!r}: the number of messages is a whole number from 1 on")
        stage = known[name]
        found[name] = msgspec.structs.replace(stage, messages=int(count)) if colon else stage
    return tuple(found[name] for name in known if name in found)
