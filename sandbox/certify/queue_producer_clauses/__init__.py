"""The clauses that only producers for RabbitMQ have."""

from __future__ import annotations

from typing import Final

from sandbox.certify.clause import Clause
from sandbox.certify.queue_producer_clauses import (
    publishing,
)

CLAUSES: Final[tuple[Clause, ...]] = (
    publishing.AFTER_CONFIRM,
    publishing.PERSISTENT,
    publishing.NACKED,
    publishing.RETURNED,
    publishing.ERRORS,
)
