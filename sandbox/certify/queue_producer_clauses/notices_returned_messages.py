"""What no queue takes is noticed, and published again."""

from __future__ import annotations

from sandbox.certify.clause import RABBITMQ, Clause, Finding, Group, Judgement, Role, judged
from sandbox.certify.history import History, Level
from sandbox.certify.producer_clauses.failed_puts import judge_failed_puts


def judge(history: History) -> Judgement:
    """A broker confirms what no queue takes, and returns it only if it is mandatory."""
    returned = judge_failed_puts(history, lambda error: error == "returned")
    stored = {each.message_id for each in history.stored}
    unnoticed = {
        entry.message_id: put.at
        for put in history.puts()
        for entry in put.entries
        if not put.mandatory and not put.error and entry.message_id not in stored
    }
    findings = [
        Finding(
            f"{message_id} was confirmed at {at:.2f} s and is in no queue: it was not published as mandatory",
            history.level_at(at),
            {"messageId": message_id},
        )
        for message_id, at in unnoticed.items()
    ]
    return judged(returned.exposure + len(unnoticed), (*returned.findings, *findings))


CLAUSE = Clause(
    id="notices-returned-messages",
    role=Role.PRODUCER,
    group=Group.DELIVERY,
    level=Level.SILVER,
    demand="A message is published as mandatory, and again when the broker returns it.",
    source="RabbitMQ documentation, Publishers: unroutable message handling",
    exercise="Some messages are returned with NO_ROUTE, as while a queue is not bound, and then confirmed.",
    needed=2,
    judge=judge,
    channels=RABBITMQ,
)
