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
    processing.nothing_lost,
    processing.nothing_twice,
    contents.bodies_unaltered,
    resharding.every_shard_read,
    resharding.parents_before_children,
    processing.resumes_after_a_kill,
    reading.survives_throttling,
    reading.survives_expired_iterators,
    reading.survives_errors,
    reading.reads_within_limits,
    contents.joins_sequences,
    bad_messages.rejects_with_the_right_code,
    bad_messages.refuses_expired,
    bad_messages.poison_stops_nothing,
    contents.drops_its_own_echo,
    contents.knows_older_versions,
    delivering.nothing_lost,
    failing.retries_failed_entries,
    failing.survives_throttling,
    failing.survives_errors,
    delivering.resumes_after_a_kill,
    backing_off.backs_off,
    messages.valid_messages,
    messages.never_oversize,
    messages.splits_sequences_rightly,
    messages.keeps_the_message_id,
    messages.sends_nothing_expired,
    backing_off.back_off_as_specified,
    settling.acks_after_the_effect,
    settling.acks_all_that_it_processed,
    settling.limits_its_prefetch,
    settling.survives_errors,
    settling.dead_letters_poison,
    publishing.tells_after_the_confirm,
    publishing.publishes_persistently,
    publishing.publishes_again_what_was_nacked,
    publishing.notices_returned_messages,
    publishing.survives_errors,
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
