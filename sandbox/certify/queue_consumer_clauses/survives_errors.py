"""A consumer comes back when its channel is closed or its connection is cut."""

from __future__ import annotations

from sandbox.certify.clause import RABBITMQ, Clause, Group, Judgement, Role
from sandbox.certify.consumer_clauses.failed_reads import judge_failed_reads
from sandbox.certify.history import History, Level


def judge(history: History) -> Judgement:
    return judge_failed_reads(history, lambda read: bool(read.error))


CLAUSE = Clause(
    id="survives-errors",
    role=Role.CONSUMER,
    group=Group.DELIVERY,
    level=Level.SILVER,
    demand="After a cut connection, or a channel that the broker closed, it connects and consumes again.",
    source="RabbitMQ documentation, Connections: recovery from connection failures",
    exercise="Some connections are cut at a delivery, and some channels are closed with 541.",
    needed=2,
    judge=judge,
    channels=RABBITMQ,
)
