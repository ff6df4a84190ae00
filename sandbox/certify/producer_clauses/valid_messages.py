"""Only valid messages are published."""

from __future__ import annotations

from emulator.diagnosis.rules import bad_messages
from sandbox.certify.clause import ALL_CHANNELS, Clause, Finding, Group, Judgement, Role, judged
from sandbox.certify.history import History, Level
from schemas import validation


def judge(history: History) -> Judgement:
    findings = []
    for each in history.stored:
        verdict = validation.judge(each.data)
        if not verdict.valid:
            why = verdict.violations[0].message if verdict.violations else ""
            findings.append(
                Finding(
                    f"{each.message_id or 'a record without messageId'} is invalid, {verdict.code}: {why}",
                    Level.GOLD,
                    {"messageId": each.message_id, "code": verdict.code},
                )
            )
    return judged(len(history.stored), findings)


CLAUSE = Clause(
    id="valid-messages",
    role=Role.PRODUCER,
    group=Group.CONTRACT,
    level=Level.GOLD,
    demand="Everything that is published is a valid message.",
    source="RDSS Message API 4.0.0, Message Format",
    exercise="Every record of the stream is judged.",
    needed=10,
    judge=judge,
    channels=ALL_CHANNELS,
    rules=(bad_messages.INVALID,),
)
