"""The clauses for consumers."""

from __future__ import annotations

from typing import Final

from sandbox.certify.clause import Clause
from sandbox.certify.consumer_clauses import (
    bodies_unaltered,
    drops_its_own_echo,
    every_shard_read,
    failed_reads,
    joins_sequences,
    knows_older_versions,
    nothing_lost,
    nothing_twice,
    parents_before_children,
    poison_stops_nothing,
    reads_within_limits,
    rejects_with_the_right_code,
    resumes_after_a_kill,
    survives_expired_iterators,
)

CLAUSES: Final[tuple[Clause, ...]] = (
    nothing_lost.CLAUSE,
    nothing_twice.CLAUSE,
    bodies_unaltered.CLAUSE,
    every_shard_read.CLAUSE,
    parents_before_children.CLAUSE,
    resumes_after_a_kill.CLAUSE,
    failed_reads.THROTTLING,
    survives_expired_iterators.CLAUSE,
    failed_reads.ERRORS,
    reads_within_limits.CLAUSE,
    joins_sequences.CLAUSE,
    rejects_with_the_right_code.CLAUSE,
    rejects_with_the_right_code.EXPIRED,
    poison_stops_nothing.CLAUSE,
    drops_its_own_echo.CLAUSE,
    knows_older_versions.CLAUSE,
)
