"""The clauses on failed publishes: what was refused, or under way when a channel ended, comes again."""

from __future__ import annotations

from sandbox.certify.clause import RABBITMQ, Clause, Group, Role
from sandbox.certify.history import Level
from sandbox.certify.producer_clauses.failed_puts import judge_failed_puts

_ANSWERS = frozenset({"", "nack", "returned"})

NACKED = Clause(
    id="publishes-again-what-was-nacked",
    role=Role.PRODUCER,
    group=Group.DELIVERY,
    level=Level.SILVER,
    demand="A message that the broker answers with basic.nack is published again.",
    source="RabbitMQ documentation, Publisher Confirms: negative acknowledgements",
    exercise="Some messages are nacked, and taken when they come again.",
    needed=2,
    judge=lambda history: judge_failed_puts(history, "nack".__eq__),
    channels=RABBITMQ,
)

ERRORS = Clause(
    id="survives-errors",
    role=Role.PRODUCER,
    group=Group.DELIVERY,
    level=Level.SILVER,
    demand="After a cut connection or a closed channel it connects, and publishes what was not confirmed.",
    source="RabbitMQ documentation, Reliability Guide: connection failures and publishers",
    exercise="Some connections are cut and some channels closed, before and after a message was taken.",
    needed=2,
    judge=lambda history: judge_failed_puts(history, lambda error: error not in _ANSWERS),
    channels=RABBITMQ,
)
