"""The clauses for consumers, a file each."""

from __future__ import annotations

from typing import Final

from sandbox.certify.clause import Clause
from sandbox.certify.consumer_clauses import (
    bodies_unaltered,
    drops_its_own_echo,
    every_shard_read,
    joins_sequences,
    knows_older_versions,
    nothing_lost,
    nothing_twice,
    parents_before_children,
    poison_stops_nothing,
    reads_within_limits,
    refuses_expired,
    rejects_with_the_right_code,
    resumes_after_a_kill,
    survives_errors,
    survives_expired_iterators,
    survives_throttling,
)

CLAUSES: Final[tuple[Clause, ...]] = tuple(
    each.CLAUSE
    for each in (
        nothing_lost,
        nothing_twice,
        bodies_unaltered,
        every_shard_read,
        parents_before_children,
        resumes_after_a_kill,
        survives_throttling,
        survives_expired_iterators,
        survives_errors,
        reads_within_limits,
        joins_sequences,
        rejects_with_the_right_code,
        refuses_expired,
        poison_stops_nothing,
        drops_its_own_echo,
        knows_older_versions,
    )
)
