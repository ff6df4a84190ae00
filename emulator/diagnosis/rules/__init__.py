"""The registry of rules: it feeds the command, the events, the control API, the TUI and docs/diagnose.md."""

from __future__ import annotations

from typing import Final

from emulator.diagnosis.rule import Harm, Rule
from emulator.diagnosis.rules import (
    auto_ack_in_a_crash,
    bad_messages,
    child_before_parent,
    dropped_entries,
    expired_iterator,
    incomplete_sequence,
    never_acknowledged,
    no_back_off,
    no_prefetch_limit,
    one_shard,
    over_the_limit,
    published_to_nowhere,
    read_again,
    reads_too_often,
    requeue_loop,
    skipped_records,
    unread_child,
)

_WORST_FIRST = list(Harm)

RULES: Final[tuple[Rule, ...]] = tuple(
    sorted(
        (
            unread_child.RULE,
            skipped_records.STARTS,
            skipped_records.RESTARTS,
            dropped_entries.RULE,
            incomplete_sequence.RULE,
            child_before_parent.RULE,
            read_again.RULE,
            bad_messages.INVALID,
            bad_messages.ALTERED,
            over_the_limit.RULE,
            expired_iterator.RULE,
            reads_too_often.RULE,
            no_back_off.RULE,
            one_shard.RULE,
            auto_ack_in_a_crash.RULE,
            published_to_nowhere.RULE,
            requeue_loop.RULE,
            never_acknowledged.RULE,
            no_prefetch_limit.RULE,
        ),
        key=lambda rule: _WORST_FIRST.index(rule.harm),
    )
)
"""Every rule, those about lost data first."""
