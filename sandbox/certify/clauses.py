"""The registry of clauses."""

from __future__ import annotations

from operator import attrgetter
from typing import Final

from rdss_sandbox.installed_extensions import with_declared
from sandbox.certify.clause import Clause, Group, Role
from sandbox.certify.consumer_clauses import bad_messages, contents, processing, reading, resharding
from sandbox.certify.history import Level
from sandbox.certify.producer_clauses import backing_off, delivering, failing, messages
from sandbox.certify.queue_consumer_clauses import settling
from sandbox.certify.queue_producer_clauses import publishing
from schemas.bound import CONTRACT
from schemas.contract import Contract

OWN_CLAUSES: Final[tuple[Clause, ...]] = (
    processing.NOTHING_LOST,
    processing.NOTHING_TWICE,
    contents.UNALTERED,
    resharding.EVERY_SHARD,
    resharding.PARENTS_FIRST,
    processing.RESUMES,
    reading.THROTTLING,
    reading.EXPIRY,
    reading.ERRORS,
    reading.WITHIN_LIMITS,
    contents.JOINED,
    bad_messages.REJECTED,
    bad_messages.EXPIRED,
    bad_messages.STOPS_NOTHING,
    contents.DROPPED,
    contents.UPGRADED,
    delivering.NOTHING_LOST,
    failing.ENTRIES,
    failing.THROTTLING,
    failing.ERRORS,
    delivering.RESUMES,
    backing_off.BACKS_OFF,
    messages.VALID,
    messages.SMALL,
    messages.SPLIT,
    messages.KEPT,
    messages.IN_TIME,
    backing_off.AS_SPECIFIED,
    settling.AFTER_EFFECT,
    settling.ACKS_ALL,
    settling.LIMITED,
    settling.SURVIVES,
    settling.GIVES_UP,
    publishing.AFTER_CONFIRM,
    publishing.PERSISTENT,
    publishing.NACKED,
    publishing.RETURNED,
    publishing.ERRORS,
)
"""The clauses of this project."""
CLAUSES: Final = with_declared("clauses", OWN_CLAUSES, attrgetter("id"))
"""Every clause, those of extensions last."""


def clauses(
    role: Role,
    level: Level = Level.GOLD,
    groups: frozenset[Group] = frozenset(Group),
    channel: str = "kinesis",
    contract: Contract | None = CONTRACT,
) -> list[Clause]:
    """The clauses for a role on a channel, up to a level, of these groups, that a contract allows.

    Without a contract they are those of all.
    """
    return [
        each
        for each in CLAUSES
        if each.role is role
        and (not each.channels or channel in each.channels)
        and each.level <= level
        and each.group in groups
        and (contract is None or each.asked_of(contract))
    ]
