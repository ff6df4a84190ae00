"""A shard's parents are read to their end before the shard."""

from __future__ import annotations

from emulator.diagnosis.rules import child_before_parent
from sandbox.certify.clause import Clause, Finding, Group, Judgement, Role, judged
from sandbox.certify.history import History, Level


def judge(history: History) -> Judgement:
    """A child's record that was delivered before one of its parents' is a breach."""
    first: dict[tuple[str, str], float] = {}
    for read in history.reads():
        for each in read.records:
            first.setdefault((read.shard, each.sequence_number), read.at)
    records = {shard.id: [number for number, _ in shard.records] for shard in history.shards}
    findings, exposure = [], 0
    for reshard in history.reshards:
        for child in reshard.children:
            begun = [at for number in records.get(child, ()) if (at := first.get((child, number)))]
            if not begun or not reshard.unread:
                continue
            exposure += 1
            late = [
                parent
                for parent in reshard.parents
                if any(first.get((parent, number), float("inf")) > min(begun) for number in records[parent])
            ]
            findings += [
                Finding(
                    f"{child} was read at {min(begun):.2f} s, when its parent {parent} still had "
                    "unread records",
                    reshard.level,
                    {"child": child, "parent": parent, "at": min(begun)},
                )
                for parent in late
            ]
    return judged(exposure, findings)


CLAUSE = Clause(
    id="parents-before-children",
    role=Role.CONSUMER,
    group=Group.DELIVERY,
    level=Level.SILVER,
    demand="A shard's parents are read to their end before it, so that a key's messages keep their order.",
    source="Amazon Kinesis Data Streams Developer Guide, After resharding",
    exercise="A shard is split, and two are merged, while they have unread records.",
    needed=2,
    judge=judge,
    rules=(child_before_parent.RULE,),
)
