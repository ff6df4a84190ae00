"""The clauses for producers."""

from __future__ import annotations

from typing import Final

from sandbox.certify.clause import Clause
from sandbox.certify.producer_clauses import (
    back_off_as_specified,
    backs_off,
    failed_puts,
    keeps_the_message_id,
    never_oversize,
    nothing_lost,
    resumes_after_a_kill,
    retries_failed_entries,
    splits_sequences_rightly,
    valid_messages,
)

CLAUSES: Final[tuple[Clause, ...]] = (
    nothing_lost.CLAUSE,
    retries_failed_entries.CLAUSE,
    failed_puts.THROTTLING,
    failed_puts.ERRORS,
    resumes_after_a_kill.CLAUSE,
    backs_off.CLAUSE,
    valid_messages.CLAUSE,
    never_oversize.CLAUSE,
    splits_sequences_rightly.CLAUSE,
    keeps_the_message_id.CLAUSE,
    back_off_as_specified.CLAUSE,
)
