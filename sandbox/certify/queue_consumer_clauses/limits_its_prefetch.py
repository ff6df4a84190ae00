"""A consumer limits how many messages it has in hand."""

from __future__ import annotations

from sandbox.certify.clause import RABBITMQ, Clause, Finding, Group, Judgement, Role, judged
from sandbox.certify.history import History, Level


def judge(history: History) -> Judgement:
    """A consumer without acknowledgements has no limit to set; ``acks-after-the-effect`` judges it."""
    subscriptions = [each for each in history.subscriptions() if not each.no_ack]
    findings = [
        Finding(
            f"{each.queue} was consumed without a prefetch limit at {each.at:.2f} s: "
            "the whole queue goes to one consumer",
            history.level_at(each.at),
            {"at": each.at},
        )
        for each in subscriptions
        if not each.prefetch
    ]
    return judged(len(subscriptions), findings, "feature-never-used")


CLAUSE = Clause(
    id="limits-its-prefetch",
    role=Role.CONSUMER,
    group=Group.DELIVERY,
    level=Level.BRONZE,
    demand="basic.qos sets a prefetch limit before the queue is consumed.",
    source="RabbitMQ documentation, Consumer Prefetch",
    exercise="The limit in force is looked up at each basic.consume.",
    needed=1,
    judge=judge,
    channels=RABBITMQ,
)
