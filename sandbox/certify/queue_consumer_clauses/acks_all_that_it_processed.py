"""What is processed is also acknowledged."""

from __future__ import annotations

from sandbox.certify.clause import RABBITMQ, Clause, Finding, Group, Judgement, Role, judged
from sandbox.certify.history import History, Level


def judge(history: History) -> Judgement:
    """A message that was told, and lies in the queue when the client has ended, was never acknowledged."""
    told = history.times_told()
    names = {number: message_id or "" for shard in history.shards for number, message_id in shard.records}
    levels = {sent.message_id: sent.level for sent in history.sent}
    findings = [
        Finding(
            f"{names[number]} was told and never acknowledged: it is back in the queue, and comes again",
            levels.get(names[number], Level.GOLD),
            {"messageId": names[number]},
        )
        for number in history.left
        if names.get(number) in told
    ]
    return judged(len(told), findings)


CLAUSE = Clause(
    id="acks-all-that-it-processed",
    role=Role.CONSUMER,
    group=Group.DELIVERY,
    level=Level.BRONZE,
    demand="Every delivery of a message that was processed is acknowledged, also one that came twice.",
    source="AMQP 0-9-1 specification, section 1.8.3.13 basic.ack",
    exercise="What lies in the queue when the consumer has ended is compared with what it told.",
    needed=10,
    judge=judge,
    channels=RABBITMQ,
)
