"""The clauses for producers, a file each."""

from __future__ import annotations

from typing import Final

from sandbox.certify.clause import Clause
from sandbox.certify.producer_clauses import (
    back_off_as_specified,
    backs_off,
    keeps_the_message_id,
    never_oversize,
    nothing_lost,
    resumes_after_a_kill,
    retries_failed_entries,
    splits_sequences_rightly,
    survives_errors,
    survives_throttling,
    valid_messages,
)

CLAUSES: Final[tuple[Clause, ...]] = tuple(
    each.CLAUSE
    for each in (
        nothing_lost,
        retries_failed_entries,
        survives_throttling,
        survives_errors,
        resumes_after_a_kill,
        backs_off,
        valid_messages,
        never_oversize,
        splits_sequences_rightly,
        keeps_the_message_id,
        back_off_as_specified,
    )
)
