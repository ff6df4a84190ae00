"""The clauses that only producers for RabbitMQ have, a file each."""

from __future__ import annotations

from typing import Final

from sandbox.certify.clause import Clause
from sandbox.certify.queue_producer_clauses import (
    notices_returned_messages,
    publishes_again_what_was_nacked,
    publishes_persistently,
    survives_errors,
    tells_after_the_confirm,
)

CLAUSES: Final[tuple[Clause, ...]] = tuple(
    each.CLAUSE
    for each in (
        tells_after_the_confirm,
        publishes_persistently,
        publishes_again_what_was_nacked,
        notices_returned_messages,
        survives_errors,
    )
)
