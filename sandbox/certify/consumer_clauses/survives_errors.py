"""A read that fails, or gets no answer, is tried again."""

from __future__ import annotations

from sandbox.certify.clause import Clause, Group, Judgement, Role
from sandbox.certify.consumer_clauses.failed_reads import judge_failed_reads
from sandbox.certify.history import History, Level

_ERRORS = frozenset({"InternalFailure", "disconnect"})


def judge(history: History) -> Judgement:
    return judge_failed_reads(history, lambda read: read.error in _ERRORS)


CLAUSE = Clause(
    id="survives-errors",
    role=Role.CONSUMER,
    group=Group.DELIVERY,
    level=Level.SILVER,
    demand="A read that fails with a server's error, or whose connection is cut, is tried again.",
    source="Amazon Kinesis API Reference, Common Errors: InternalFailure",
    exercise="A few reads are answered with InternalFailure, and one connection is cut.",
    needed=2,
    judge=judge,
)
