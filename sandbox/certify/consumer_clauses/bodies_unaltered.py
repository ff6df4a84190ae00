"""Bodies are processed as they were sent."""

from __future__ import annotations

from sandbox.certify.clause import ALL_CHANNELS, Clause, Finding, Group, Judgement, Role, judged
from sandbox.certify.history import History, Level


def judge(history: History) -> Judgement:
    wanted = {sent.message_id: sent for sent in history.sent}
    told = [each for each in history.told if each.digest is not None and each.message_id in wanted]
    findings = [
        Finding(
            f"the body of {each.message_id} has the SHA-256 {each.digest}, and was sent with "
            f"{wanted[each.message_id].digest}",
            wanted[each.message_id].level,
            {"messageId": each.message_id, "told": each.digest, "sent": wanted[each.message_id].digest},
        )
        for each in told
        if each.digest != wanted[each.message_id].digest
    ]
    return judged(len(told), findings, "not-observable")


CLAUSE = Clause(
    id="bodies-unaltered",
    role=Role.CONSUMER,
    group=Group.DELIVERY,
    level=Level.BRONZE,
    demand="The body of a message reaches the work unaltered, to the byte.",
    source="RDSS Message API 4.0.0, Message Body",
    exercise='The consumer tells "sha256", the SHA-256 of the body\'s text as it was sent.',
    needed=10,
    judge=judge,
    channels=ALL_CHANNELS,
)
