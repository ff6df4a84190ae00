"""The clauses on failed calls: what failed is put again."""

from __future__ import annotations

from collections.abc import Callable

from sandbox.certify.clause import Clause, Finding, Group, Judgement, Role, judged
from sandbox.certify.history import History, Level

_ERRORS = frozenset({"InternalFailure", "disconnect"})
THROTTLED = "ProvisionedThroughputExceededException"


def judge_failed_puts(history: History, failed: Callable[[str], bool]) -> Judgement:
    """Judge how a producer takes calls and entries that fail with a code for which ``failed`` holds."""
    struck = {
        entry.message_id: put.at
        for put in history.puts()
        for entry in put.entries
        if failed(put.error or entry.error)
    }
    stored = {each.message_id for each in history.stored}
    findings = [
        Finding(
            f"{message_id} was refused at {at:.2f} s and is not in the stream",
            history.level_at(at),
            {"messageId": message_id},
        )
        for message_id, at in struck.items()
        if message_id not in stored
    ]
    return judged(len(struck), findings)


ERRORS = Clause(
    id="survives-errors",
    role=Role.PRODUCER,
    group=Group.DELIVERY,
    level=Level.SILVER,
    demand="A call that fails with a server's error, or whose connection is cut, is made again.",
    source="Amazon Kinesis API Reference, Common Errors: InternalFailure",
    exercise="Some calls are answered with InternalFailure, and some connections are cut.",
    needed=2,
    judge=lambda history: judge_failed_puts(history, _ERRORS.__contains__),
)

THROTTLING = Clause(
    id="survives-throttling",
    role=Role.PRODUCER,
    group=Group.DELIVERY,
    level=Level.SILVER,
    demand="A message that is refused for lack of throughput is put again, and the producer lives.",
    source="Amazon Kinesis API Reference, PutRecord: ProvisionedThroughputExceededException",
    exercise="Some messages are refused three times, and pass then.",
    needed=2,
    judge=lambda history: judge_failed_puts(history, THROTTLED.__eq__),
)
