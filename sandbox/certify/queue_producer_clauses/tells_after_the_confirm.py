"""A message counts as sent when the broker has confirmed it."""

from __future__ import annotations

from sandbox.certify.clause import RABBITMQ, Clause, Finding, Group, Judgement, Role, judged
from sandbox.certify.history import History, Level


def judge(history: History) -> Judgement:
    confirmed: dict[str | None, float] = {}
    for put in history.puts():
        if put.confirmed and put.error != "nack":
            for entry in put.entries:
                confirmed.setdefault(entry.message_id, put.at)
    findings = [
        Finding(
            f"{told.message_id} was told as sent "
            + (
                "without a confirm of the broker"
                if told.message_id not in confirmed
                else f"at {told.at:.3f} s, and confirmed at {confirmed[told.message_id]:.3f} s"
            ),
            history.level_at(told.at),
            {"messageId": told.message_id},
        )
        for told in history.told
        if told.at < confirmed.get(told.message_id, float("inf"))
    ]
    return judged(len(history.told), findings)


CLAUSE = Clause(
    id="tells-after-the-confirm",
    role=Role.PRODUCER,
    group=Group.DELIVERY,
    level=Level.BRONZE,
    demand="A message is told as sent after the broker has confirmed it.",
    source="RabbitMQ documentation, Consumer Acknowledgements and Publisher Confirms",
    exercise="The order of the broker's confirms and of what the producer tells is compared.",
    needed=10,
    judge=judge,
    channels=RABBITMQ,
)
