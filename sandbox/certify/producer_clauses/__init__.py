"""The clauses for producers."""

from __future__ import annotations

from typing import Final

from sandbox.certify.clause import Clause
from sandbox.certify.producer_clauses import (
    backing_off,
    delivering,
    failing,
    messages,
)

CLAUSES: Final[tuple[Clause, ...]] = (
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
)
