"""A message is acknowledged when it is processed, and not before."""

from __future__ import annotations

from sandbox.certify.clause import RABBITMQ, Clause, Finding, Group, Judgement, Role, judged
from sandbox.certify.exchange import Verdict
from sandbox.certify.history import History, Level


def judge(history: History) -> Judgement:
    """An ack is a breach when the message was told after it or never, or when no ack was asked for at all."""
    first: dict[str, float] = {}
    for told in history.told:
        first.setdefault(told.message_id, told.at)
    wanted = {sent.message_id for sent in history.sent}
    acked: dict[str, float] = {}
    for settlement in history.settlements():
        if settlement.verdict is Verdict.ACK:
            for each in settlement.records:
                if each.message_id in wanted:
                    acked.setdefault(str(each.message_id), settlement.at)
    findings = [
        Finding(
            f"{each.queue} was consumed with automatic acknowledgement: what is in hand at a crash is lost",
            history.level_at(each.at),
            {"at": each.at},
        )
        for each in history.subscriptions()
        if each.no_ack
    ]
    for message_id, at in acked.items():
        told_at = first.get(message_id)
        if told_at is None or told_at > at:
            then = "never told" if told_at is None else f"told at {told_at:.3f} s"
            findings.append(
                Finding(
                    f"{message_id} was acknowledged at {at:.3f} s and {then}: a crash between loses it",
                    history.level_at(at),
                    {"messageId": message_id, "acked": at, "told": told_at},
                )
            )
    return judged(len(acked), findings)


CLAUSE = Clause(
    id="acks-after-the-effect",
    role=Role.CONSUMER,
    group=Group.DELIVERY,
    level=Level.BRONZE,
    demand="A message is acknowledged after it is processed, never before and never automatically.",
    source="RabbitMQ documentation, Consumer Acknowledgements and Publisher Confirms",
    exercise="The order of the consumer's acks and of what it tells is compared, message by message.",
    needed=10,
    judge=judge,
    channels=RABBITMQ,
)
