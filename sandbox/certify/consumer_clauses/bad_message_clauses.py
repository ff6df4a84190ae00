"""The clauses on messages that cannot be processed: where they end, and what comes behind them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from sandbox.certify.clause import (
    ALL_CHANNELS,
    Clause,
    Group,
    Judgement,
    Role,
    has_expiry,
    has_rejects,
    judge_each,
    judged,
    report,
)
from sandbox.certify.history import History, Level, SentBad
from schemas.bound import CONTRACT

_clause = partial(Clause, role=Role.CONSUMER, group=Group.CONTRACT, level=Level.GOLD, channels=ALL_CHANNELS)

_STAGES = {"bad messages", "expired messages"}


def _judge_bad(history: History, has_code: Callable[[str], bool]) -> Judgement:
    """A finding for each message of such a code that is not in its queue with it, or was processed."""
    rejected, times = history.rejected(), history.times_told()

    def find_wrong(bad: SentBad) -> str | None:
        places = rejected.get(bad.message_id, [])
        if bad.message_id in times:
            return f"a message that deserves {bad.code} was processed"
        if not places:
            return f"a message that deserves {bad.code} is in no queue"
        if (bad.queue, bad.code) in places:
            return None
        queue, code = places[0]
        return (
            f"a message that deserves {bad.code} in {bad.queue} is in {queue} with {code or 'no errorCode'}"
        )

    return judge_each((each for each in history.bad if has_code(each.code)), find_wrong)


@partial(
    _clause,
    id="rejects-with-the-right-code",
    demand="A message that cannot be processed goes to the queue of its error code, with that code.",
    source="RDSS Message API 4.0.0, Error Queues and Error Codes",
    exercise="One message is sent for each code that a message alone can cause.",
    advice="Validate before you process; put what fails on the queue of its code, with its code and a "
    "errorDescription in the header.",
    needed=5,
    asked_of=has_rejects,
)
def rejects_with_the_right_code(history: History) -> Judgement:
    return _judge_bad(history, lambda code: code != CONTRACT.expired)


@partial(
    _clause,
    id="refuses-expired",
    demand=f"A message that has expired goes to the error queue, with {CONTRACT.expired}.",
    source="RDSS Message API 4.0.0, messageTimings and Error Codes",
    exercise="Messages are sent after they have expired.",
    advice="Compare the message's expiry with the time before you process, and reject what is late.",
    needed=2,
    asked_of=lambda contract: has_expiry(contract) and has_rejects(contract),
)
def refuses_expired(history: History) -> Judgement:
    return _judge_bad(history, lambda code: code == CONTRACT.expired)


@partial(
    _clause,
    id="poison-stops-nothing",
    demand="What cannot be processed does not hold up what comes behind it.",
    source="RDSS Message API 4.0.0, Error Queues",
    exercise="Good messages are sent between bad ones.",
    advice="Reject a message that fails by itself, checkpoint, and go on with the next.",
    needed=5,
    asked_of=has_rejects,
)
def poison_stops_nothing(history: History) -> Judgement:
    times = history.times_told()
    first = min((each.at for each in history.bad), default=float("inf"))
    behind = [sent for sent in history.sent if sent.at >= first]
    findings = [
        report(
            history,
            sent.at,
            f"{sent.message_id}, sent behind a bad message, was not processed",
            messageId=sent.message_id,
        )
        for sent in behind
        if sent.message_id not in times
    ]
    findings += [
        report(history, life.ended or 0.0, f"the consumer ended by itself with exit code {life.code}")
        for life in history.lives
        if life.end == "itself" and life.stage in _STAGES
    ]
    return judged(len(behind) if history.bad else 0, findings)
