"""The registry of rules: it feeds the command, the events, the control API, the TUI and docs/diagnose.md."""

from __future__ import annotations

from operator import attrgetter
from typing import Final

from emulator.diagnosis.rule import Harm, Rule
from emulator.diagnosis.rules import (
    bad_messages,
    expired_iterator,
    queue_rules,
    read_again,
    refusal_rules,
    shard_rules,
    skipped_records,
    unread_shards,
)
from rdss_sandbox.installed_extensions import with_declared

_WORST_FIRST = list(Harm)

OWN_RULES: Final[tuple[Rule, ...]] = tuple(
    sorted(
        (
            unread_shards.UNREAD_CHILD,
            unread_shards.UNREAD_SHARD,
            skipped_records.STARTS,
            skipped_records.RESTARTS,
            refusal_rules.DROPPED,
            bad_messages.INCOMPLETE,
            shard_rules.CHILD_FIRST,
            read_again.RULE,
            bad_messages.INVALID,
            bad_messages.ALTERED,
            bad_messages.FOREIGN,
            bad_messages.EXPIRED,
            bad_messages.REUSED,
            bad_messages.CHANGED,
            bad_messages.UNLINKED,
            bad_messages.OVERSIZE,
            expired_iterator.RULE,
            shard_rules.TOO_OFTEN,
            refusal_rules.NO_BACK_OFF,
            shard_rules.ONE_SHARD,
            queue_rules.AUTO_ACK_IN_A_CRASH,
            queue_rules.PUBLISHED_TO_NOWHERE,
            queue_rules.REQUEUE_LOOP,
            queue_rules.NEVER_ACKNOWLEDGED,
            queue_rules.NO_PREFETCH_LIMIT,
        ),
        key=lambda rule: _WORST_FIRST.index(rule.harm),
    )
)
"""The rules of this project, those about lost data first."""
RULES: Final = with_declared("rules", OWN_RULES, attrgetter("id"))
"""Every rule, those of extensions last."""
