"""A message that is refused for lack of throughput is put again."""

from __future__ import annotations

from sandbox.certify.clause import Clause, Group, Judgement, Role
from sandbox.certify.history import History, Level
from sandbox.certify.producer_clauses.failed_puts import judge_failed_puts

THROTTLED = "ProvisionedThroughputExceededException"


def judge(history: History) -> Judgement:
    return judge_failed_puts(history, THROTTLED.__eq__)


CLAUSE = Clause(
    id="survives-throttling",
    role=Role.PRODUCER,
    group=Group.DELIVERY,
    level=Level.SILVER,
    demand="A message that is refused for lack of throughput is put again, and the producer lives.",
    source="Amazon Kinesis API Reference, PutRecord: ProvisionedThroughputExceededException",
    exercise="Some messages are refused three times, and pass then.",
    needed=2,
    judge=judge,
)
