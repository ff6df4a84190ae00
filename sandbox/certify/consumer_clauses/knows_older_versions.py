"""A message of an older version that can be upgraded is processed."""

from __future__ import annotations

from sandbox.certify.clause import ALL_CHANNELS, Clause, Finding, Group, Judgement, Role, judged
from sandbox.certify.history import History, Level


def judge(history: History) -> Judgement:
    told, rejected = history.times_told(), history.rejected()
    findings = []
    for sent in history.older:
        if sent.message_id in told:
            continue
        places = rejected.get(sent.message_id, [])
        became = f"is in {places[0][0]} with {places[0][1] or 'no errorCode'}" if places else "is in no queue"
        findings.append(
            Finding(
                f"a message of version {sent.version} was not processed, and {became}",
                Level.GOLD,
                {"messageId": sent.message_id, "version": sent.version},
            )
        )
    return judged(len(history.older), findings)


CLAUSE = Clause(
    id="knows-older-versions",
    role=Role.CONSUMER,
    group=Group.CONTRACT,
    level=Level.GOLD,
    demand="A message of version 3.0.0, 3.0.1 or 3.0.2 is upgraded and processed.",
    source="RDSS Message API 4.0.0, version, and Releases: data model 3.0.0 to 4.0.0",
    exercise="Two messages of each of these versions are sent, with their fields, names and numbers.",
    needed=3,
    judge=judge,
    channels=ALL_CHANNELS,
)
