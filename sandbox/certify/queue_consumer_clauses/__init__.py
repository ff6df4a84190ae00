"""The clauses that only consumers of RabbitMQ have, a file each."""

from __future__ import annotations

from typing import Final

from sandbox.certify.clause import Clause
from sandbox.certify.queue_consumer_clauses import (
    acks_after_the_effect,
    acks_all_that_it_processed,
    dead_letters_poison,
    limits_its_prefetch,
    survives_errors,
)

CLAUSES: Final[tuple[Clause, ...]] = tuple(
    each.CLAUSE
    for each in (
        acks_after_the_effect,
        acks_all_that_it_processed,
        limits_its_prefetch,
        survives_errors,
        dead_letters_poison,
    )
)
