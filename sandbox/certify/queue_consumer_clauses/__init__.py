"""The clauses that only consumers of RabbitMQ have."""

from __future__ import annotations

from typing import Final

from sandbox.certify.clause import Clause
from sandbox.certify.queue_consumer_clauses import settling

CLAUSES: Final[tuple[Clause, ...]] = (
    settling.AFTER_EFFECT,
    settling.ACKS_ALL,
    settling.LIMITED,
    settling.SURVIVES,
    settling.GIVES_UP,
)
