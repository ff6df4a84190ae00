"""The parts of a sequence are processed as one message."""

from __future__ import annotations

from sandbox.certify.clause import ALL_CHANNELS, Clause, Finding, Group, Judgement, Role, judged
from sandbox.certify.history import History, Level


def judge(history: History) -> Judgement:
    """A sequence is told once, by the messageId of any of its parts."""
    findings = []
    for sequence in history.sequences:
        told = [each for each in history.told if each.message_id in sequence.message_ids]
        digests = {each.digest for each in told if each.digest is not None}
        if len(told) != 1:
            said = f"a sequence of {len(sequence.message_ids)} parts was told {len(told)} times"
        elif digests - {sequence.digest}:
            said = f"the body of a sequence of {len(sequence.message_ids)} parts was not joined as it was cut"
        else:
            continue
        findings.append(Finding(said, Level.GOLD, {"messageIds": sequence.message_ids[:5]}))
    return judged(len(history.sequences), findings)


CLAUSE = Clause(
    id="joins-sequences",
    role=Role.CONSUMER,
    group=Group.CONTRACT,
    level=Level.GOLD,
    demand="The parts of a sequence are joined, in whatever order they come, and processed once.",
    source="RDSS Message API 4.0.0, Message Sequences",
    exercise="Bodies are cut into two, three and four parts, which are sent last part first.",
    needed=2,
    judge=judge,
    channels=ALL_CHANNELS,
)
