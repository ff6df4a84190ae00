"""What was under way when a channel or a connection ended is published again."""

from __future__ import annotations

from sandbox.certify.clause import RABBITMQ, Clause, Group, Judgement, Role
from sandbox.certify.history import History, Level
from sandbox.certify.producer_clauses.failed_puts import judge_failed_puts

_ANSWERS = frozenset({"", "nack", "returned"})


def judge(history: History) -> Judgement:
    return judge_failed_puts(history, lambda error: error not in _ANSWERS)


CLAUSE = Clause(
    id="survives-errors",
    role=Role.PRODUCER,
    group=Group.DELIVERY,
    level=Level.SILVER,
    demand="After a cut connection or a closed channel it connects, and publishes what was not confirmed.",
    source="RabbitMQ documentation, Reliability Guide: connection failures and publishers",
    exercise="Some connections are cut and some channels closed, before and after a message was taken.",
    needed=2,
    judge=judge,
    channels=RABBITMQ,
)
