"""A bad message goes to the right queue, with the right code."""

from __future__ import annotations

from sandbox.certify.clause import ALL_CHANNELS, Clause, Finding, Group, Judgement, Role, judged
from sandbox.certify.history import History, Level, SentBad
from schemas.error_codes import ErrorCode


def judge(history: History) -> Judgement:
    wanted = [each for each in history.bad if each.code != ErrorCode.GENERR003]
    return judged(len(wanted), _misjudged(history, wanted))


def judge_expired(history: History) -> Judgement:
    expired = [each for each in history.bad if each.code == ErrorCode.GENERR003]
    return judged(len(expired), _misjudged(history, expired))


def _misjudged(history: History, wanted: list[SentBad]) -> list[Finding]:
    """A finding for each of these messages that is not in its queue with its code, or was processed."""
    rejected, told = history.rejected(), history.times_told()
    findings = []
    for bad in wanted:
        places = rejected.get(bad.message_id, [])
        if bad.message_id in told:
            said = f"a message that deserves {bad.code} was processed"
        elif not places:
            said = f"a message that deserves {bad.code} is in no queue"
        elif (bad.queue, bad.code) not in places:
            queue, code = places[0]
            found = code or "no errorCode"
            said = f"a message that deserves {bad.code} in {bad.queue} is in {queue} with {found}"
        else:
            continue
        findings.append(Finding(said, Level.GOLD, {"messageId": bad.message_id, "code": bad.code}))
    return findings


CLAUSE = Clause(
    id="rejects-with-the-right-code",
    role=Role.CONSUMER,
    group=Group.CONTRACT,
    level=Level.GOLD,
    demand="A message that cannot be processed goes to the queue of its error code, with that code.",
    source="RDSS Message API 4.0.0, Error Queues and Error Codes",
    exercise="One message is sent for each code that a message alone can cause.",
    needed=5,
    judge=judge,
    channels=ALL_CHANNELS,
)

EXPIRED = Clause(
    id="refuses-expired",
    role=Role.CONSUMER,
    group=Group.CONTRACT,
    level=Level.GOLD,
    demand="A message whose expirationTimestamp has passed goes to the error queue with GENERR003.",
    source="RDSS Message API 4.0.0, messageTimings and Error Codes",
    exercise="Messages are sent after they have expired.",
    needed=2,
    judge=judge_expired,
    channels=ALL_CHANNELS,
)
