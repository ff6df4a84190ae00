"""Every shard is read to its end."""

from __future__ import annotations

from emulator.diagnosis.rules import unread_child
from sandbox.certify.clause import Clause, Finding, Group, Judgement, Role, judged
from sandbox.certify.history import History, Level


def judge(history: History) -> Judgement:
    made = {child: reshard for reshard in history.reshards for child in reshard.children}
    given = {(read.shard, each.sequence_number) for read in history.reads() for each in read.records}
    levels = {sent.message_id: sent.level for sent in history.sent}
    findings = []
    for shard in history.shards:
        # What is behind the last delivered record: what was skipped before it is another clause's.
        left: list[str | None] = []
        for number, message_id in shard.records:
            left = [] if (shard.id, number) in given else [*left, message_id]
        if not left:
            continue
        reshard = made.get(shard.id)
        never = not any(read.shard == shard.id for read in history.reads())
        origin = f", made by a {reshard.action} of {' and '.join(reshard.parents)}," if reshard else ""
        how = "was never read" if never else "was not read to its end"
        findings.append(
            Finding(
                f"{shard.id}{origin} {how}: {len(left)} of its {len(shard.records)} records "
                "were not delivered",
                min(levels.get(each or "", Level.GOLD) for each in left),
                {
                    "shard": shard.id,
                    "unread": len(left),
                    "records": len(shard.records),
                    "messageIds": left[:5],
                },
            )
        )
    held = {shard.id for shard in history.shards if shard.records}
    # What was never read at all says most.
    findings.sort(key=lambda finding: "never" not in finding.said)
    return judged(len(held & made.keys()), findings)


CLAUSE = Clause(
    id="every-shard-read",
    role=Role.CONSUMER,
    group=Group.DELIVERY,
    level=Level.SILVER,
    demand="Every shard is read, also those that a split or a merge makes while the consumer runs.",
    source="Amazon Kinesis Data Streams Developer Guide, After resharding",
    exercise="A shard is split and two are merged; the children get records.",
    needed=2,
    judge=judge,
    rules=(unread_child.RULE,),
)
