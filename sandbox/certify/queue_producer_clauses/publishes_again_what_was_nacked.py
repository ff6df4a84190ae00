"""What the broker refuses is published again."""

from __future__ import annotations

from sandbox.certify.clause import RABBITMQ, Clause, Group, Judgement, Role
from sandbox.certify.history import History, Level
from sandbox.certify.producer_clauses.failed_puts import judge_failed_puts

_ERRORS = frozenset({"nack"})


def judge(history: History) -> Judgement:
    return judge_failed_puts(history, _ERRORS.__contains__)


CLAUSE = Clause(
    id="publishes-again-what-was-nacked",
    role=Role.PRODUCER,
    group=Group.DELIVERY,
    level=Level.SILVER,
    demand="A message that the broker answers with basic.nack is published again.",
    source="RabbitMQ documentation, Publisher Confirms: negative acknowledgements",
    exercise="Some messages are nacked, and taken when they come again.",
    needed=2,
    judge=judge,
    channels=RABBITMQ,
)
