"""An expired message is not processed."""

from __future__ import annotations

from sandbox.certify.clause import ALL_CHANNELS, Clause, Group, Judgement, Role, judged
from sandbox.certify.consumer_clauses.rejects_with_the_right_code import misjudged
from sandbox.certify.history import History, Level
from schemas.error_codes import ErrorCode


def judge(history: History) -> Judgement:
    expired = [each for each in history.bad if each.code == ErrorCode.GENERR003]
    return judged(len(expired), misjudged(history, expired))


CLAUSE = Clause(
    id="refuses-expired",
    role=Role.CONSUMER,
    group=Group.CONTRACT,
    level=Level.GOLD,
    demand="A message whose expirationTimestamp has passed goes to the error queue with GENERR003.",
    source="RDSS Message API 4.0.0, messageTimings and Error Codes",
    exercise="Messages are sent after they have expired.",
    needed=2,
    judge=judge,
    channels=ALL_CHANNELS,
)
