"""No message is larger than a message may be."""

from __future__ import annotations

from emulator.diagnosis.rules import over_the_limit
from sandbox.certify.clause import Clause, Finding, Group, Judgement, Role, judged
from sandbox.certify.history import History, Level
from schemas.envelope import MAX_MESSAGE_BYTES


def judge(history: History) -> Judgement:
    entries = [entry for put in history.puts() for entry in put.entries]
    findings = [
        Finding(
            f"a record of {entry.size:,} bytes was put; a message has {MAX_MESSAGE_BYTES:,} at most",
            Level.GOLD,
            {"messageId": entry.message_id, "bytes": entry.size},
        )
        for entry in entries
        if entry.size > MAX_MESSAGE_BYTES
    ]
    return judged(len(history.sequences), findings)


CLAUSE = Clause(
    id="never-oversize",
    role=Role.PRODUCER,
    group=Group.CONTRACT,
    level=Level.GOLD,
    demand="No record is larger than a message may be.",
    source="RDSS Message API 4.0.0, Message Sequences",
    exercise="The file has messages that are too large for one record.",
    needed=1,
    judge=judge,
    rules=(over_the_limit.RULE,),
)
