"""A read that is refused for lack of throughput is tried again."""

from __future__ import annotations

from sandbox.certify.clause import Clause, Group, Judgement, Role
from sandbox.certify.consumer_clauses.failed_reads import judge_failed_reads
from sandbox.certify.history import History, Level

THROTTLED = "ProvisionedThroughputExceededException"


def judge(history: History) -> Judgement:
    return judge_failed_reads(history, lambda read: read.error == THROTTLED)


CLAUSE = Clause(
    id="survives-throttling",
    role=Role.CONSUMER,
    group=Group.DELIVERY,
    level=Level.SILVER,
    demand="A read that is refused for lack of throughput is tried again, and the consumer lives.",
    source="Amazon Kinesis API Reference, GetRecords: ProvisionedThroughputExceededException",
    exercise="A few reads are refused, and pass when they are tried again.",
    needed=2,
    judge=judge,
)
