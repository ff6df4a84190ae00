"""The clauses for consumers."""

from __future__ import annotations

from typing import Final

from sandbox.certify.clause import Clause
from sandbox.certify.consumer_clauses import (
    bad_messages,
    contents,
    processing,
    reading,
    resharding,
)

CLAUSES: Final[tuple[Clause, ...]] = (
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
)
