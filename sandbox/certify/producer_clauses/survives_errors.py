"""A call that fails, or gets no answer, is made again."""

from __future__ import annotations

from sandbox.certify.clause import Clause, Group, Judgement, Role
from sandbox.certify.history import History, Level
from sandbox.certify.producer_clauses.failed_puts import judge_failed_puts

_ERRORS = frozenset({"InternalFailure", "disconnect"})


def judge(history: History) -> Judgement:
    return judge_failed_puts(history, _ERRORS.__contains__)


CLAUSE = Clause(
    id="survives-errors",
    role=Role.PRODUCER,
    group=Group.DELIVERY,
    level=Level.SILVER,
    demand="A call that fails with a server's error, or whose connection is cut, is made again.",
    source="Amazon Kinesis API Reference, Common Errors: InternalFailure",
    exercise="Some calls are answered with InternalFailure, and some connections are cut.",
    needed=2,
    judge=judge,
)
