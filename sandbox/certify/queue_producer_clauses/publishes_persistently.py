"""Messages are published so that they survive the broker's restart."""

from __future__ import annotations

from sandbox.certify.clause import RABBITMQ, Clause, Finding, Group, Judgement, Role, judged
from sandbox.certify.history import History, Level


def judge(history: History) -> Judgement:
    puts = history.puts()
    findings = [
        Finding(
            f"{put.entries[0].message_id} was published with a delivery mode other than 2: "
            "a restart of the broker loses it",
            history.level_at(put.at),
            {"messageId": put.entries[0].message_id},
        )
        for put in puts
        if not put.persistent
    ]
    return judged(len(puts), findings)


CLAUSE = Clause(
    id="publishes-persistently",
    role=Role.PRODUCER,
    group=Group.DELIVERY,
    level=Level.BRONZE,
    demand="Every message is published with the delivery mode 2, persistent.",
    source="RabbitMQ documentation, Queues: durability, and Publishers: message properties",
    exercise="The properties of every publish are looked at.",
    needed=10,
    judge=judge,
    channels=RABBITMQ,
)
