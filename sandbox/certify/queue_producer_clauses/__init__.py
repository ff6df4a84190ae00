"""The clauses that only producers for RabbitMQ have."""

from __future__ import annotations

from typing import Final

from sandbox.certify.clause import Clause
from sandbox.certify.queue_producer_clauses import (
    failed_publishes,
    notices_returned_messages,
    publishes_persistently,
    tells_after_the_confirm,
)

CLAUSES: Final[tuple[Clause, ...]] = (
    tells_after_the_confirm.CLAUSE,
    publishes_persistently.CLAUSE,
    failed_publishes.NACKED,
    notices_returned_messages.CLAUSE,
    failed_publishes.ERRORS,
)
