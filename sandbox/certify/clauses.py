"""The registry of clauses."""

from __future__ import annotations

from operator import attrgetter
from typing import Final

from emulator.channels.kind_registry import list_kinds
from rdss_sandbox.installed_extensions import with_declared
from sandbox.certify.clause import Clause, Group, Role
from sandbox.certify.consumer_clauses import (
    bad_message_clauses,
    content_clauses,
    processing_clauses,
    reading_clauses,
    resharding_clauses,
)
from sandbox.certify.history import Level
from sandbox.certify.producer_clauses import (
    back_off_clauses,
    delivery_clauses,
    failure_clauses,
    message_clauses,
)
from sandbox.certify.queue_consumer_clauses import settlement_clauses
from sandbox.certify.queue_producer_clauses import publish_clauses
from schemas.bound import CONTRACT
from schemas.contract import Contract

OWN_CLAUSES: Final[tuple[Clause, ...]] = (
    processing_clauses.nothing_lost,
    processing_clauses.nothing_twice,
    content_clauses.bodies_unaltered,
    resharding_clauses.every_shard_read,
    resharding_clauses.parents_before_children,
    processing_clauses.resumes_after_a_kill,
    reading_clauses.survives_throttling,
    reading_clauses.survives_expired_iterators,
    reading_clauses.survives_errors,
    reading_clauses.reads_within_limits,
    content_clauses.joins_sequences,
    bad_message_clauses.rejects_with_the_right_code,
    bad_message_clauses.refuses_expired,
    bad_message_clauses.poison_stops_nothing,
    content_clauses.drops_its_own_echo,
    content_clauses.knows_older_versions,
    delivery_clauses.nothing_lost,
    failure_clauses.retries_failed_entries,
    failure_clauses.survives_throttling,
    failure_clauses.survives_errors,
    delivery_clauses.resumes_after_a_kill,
    back_off_clauses.backs_off,
    message_clauses.valid_messages,
    message_clauses.never_oversize,
    message_clauses.splits_sequences_rightly,
    message_clauses.keeps_the_message_id,
    message_clauses.sends_nothing_expired,
    back_off_clauses.back_off_as_specified,
    settlement_clauses.acks_after_the_effect,
    settlement_clauses.acks_all_that_it_processed,
    settlement_clauses.limits_its_prefetch,
    settlement_clauses.survives_errors,
    settlement_clauses.dead_letters_poison,
    publish_clauses.tells_after_the_confirm,
    publish_clauses.publishes_persistently,
    publish_clauses.publishes_again_what_was_nacked,
    publish_clauses.notices_returned_messages,
    publish_clauses.survives_errors,
)
"""The clauses of this project."""
CLAUSES: Final = with_declared("clauses", OWN_CLAUSES, attrgetter("id"))
"""Every clause, those of extensions last."""


def list_channels(role: Role) -> list[str]:
    """What clauses for a role that name no channel are for: certified kinds, and what other clauses name."""
    named = {channel for each in CLAUSES if each.role is role for channel in each.channels}
    return list(dict.fromkeys([*list_kinds("certified"), *sorted(named)]))


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
