"""The registry of clauses."""

from __future__ import annotations

from typing import Final

from sandbox.certify import consumer_clauses, producer_clauses, queue_consumer_clauses, queue_producer_clauses
from sandbox.certify.clause import Channel, Clause, Group, Role
from sandbox.certify.history import Level

CLAUSES: Final[tuple[Clause, ...]] = (
    *consumer_clauses.CLAUSES,
    *producer_clauses.CLAUSES,
    *queue_consumer_clauses.CLAUSES,
    *queue_producer_clauses.CLAUSES,
)


def clauses(
    role: Role,
    level: Level = Level.GOLD,
    groups: frozenset[Group] = frozenset(Group),
    channel: Channel = Channel.KINESIS,
) -> list[Clause]:
    """The clauses for a role on a channel, up to a level, of these groups."""
    return [
        each
        for each in CLAUSES
        if each.role is role and channel in each.channels and each.level <= level and each.group in groups
    ]
