"""A message has the same messageId and the same bytes at each try."""

from __future__ import annotations

from collections import defaultdict

from emulator.diagnosis.rules import bad_messages
from sandbox.certify.clause import ALL_CHANNELS, Clause, Finding, Group, Judgement, Role, judged
from sandbox.certify.history import History, Level


def judge(history: History) -> Judgement:
    wanted = {sent.message_id for sent in history.sent}
    large = {sequence.message_ids[0] for sequence in history.sequences}
    tries: dict[str, list[str]] = defaultdict(list)
    unknown: dict[str | None, float] = {}
    for put in history.puts():
        for entry in put.entries:
            if entry.message_id in wanted:
                tries[str(entry.message_id)].append(entry.digest)
            elif not large:
                unknown.setdefault(entry.message_id, put.at)
    findings = [
        Finding(
            f"{message_id} was put {len(digests)} times, with {len(set(digests))} different texts",
            Level.GOLD,
            {"messageId": message_id},
        )
        for message_id, digests in tries.items()
        if len(set(digests)) > 1 and message_id not in large
    ]
    findings += [
        Finding(
            f"{message_id or 'a record without messageId'} is no message of the file", Level.GOLD, {"at": at}
        )
        for message_id, at in unknown.items()
    ]
    return judged(sum(len(digests) > 1 for digests in tries.values()), findings)


CLAUSE = Clause(
    id="keeps-the-message-id",
    role=Role.PRODUCER,
    group=Group.CONTRACT,
    level=Level.GOLD,
    demand="A message that is sent again has the same messageId and the same text.",
    source="RDSS Message API 4.0.0, messageId",
    exercise="Messages are refused, and put again.",
    needed=2,
    judge=judge,
    channels=ALL_CHANNELS,
    rules=(bad_messages.ALTERED,),
)
