"""The clauses on shards that a split or a merge makes: each is read, and after its parents."""

from __future__ import annotations

from functools import partial
from math import inf

from emulator.diagnosis.rules import shard_rules, unread_shards
from rdss_sandbox.shapes.certificate import Finding
from sandbox.certify.clause import UNTIL, Clause, Group, Judgement, Role, judged
from sandbox.certify.history import History, Level

_clause = partial(Clause, role=Role.CONSUMER, group=Group.DELIVERY, level=Level.SILVER)


@partial(
    _clause,
    id="every-shard-read",
    demand="Every shard is read, also those that a split or a merge makes while the consumer runs.",
    source="Amazon Kinesis Data Streams Developer Guide, After resharding",
    exercise="A shard is split and two are merged; the children get records.",
    needed=2,
    rules=(unread_shards.UNREAD_CHILD, unread_shards.UNREAD_SHARD),
)
def every_shard_read(history: History) -> Judgement:
    """Judge each shard at the end of the stage in which its records came, in the start that ran then."""
    made = {child: reshard for reshard in history.reshards for child in reshard.children}
    levels = {sent.message_id: sent.level for sent in history.sent}
    findings = []
    for shard in history.shards:
        unread = {number for number, _ in history.unread(shard)}
        held = len(shard.records)
        read = (at for at, (number, _) in enumerate(shard.records, 1) if number not in unread)
        if not (waiting := unread_shards.count_left(0, held, read)):
            continue
        left = [message_id for _, message_id in shard.records[-waiting:]]
        reshard = made.get(shard.id)
        last = max(history.end_of(history.put_at.get((shard.id, number), 0.0)).life for number in unread)
        reads = [read.life for read in history.reads() if read.shard == shard.id]
        never, later = min(reads, default=last + 1) > last, max(reads, default=0) > last
        origin = f", made by a {reshard.action} of {' and '.join(reshard.parents)}," if reshard else ""
        how = "was never read" if never else "was not read to its end"
        findings.append(
            Finding(
                f"{shard.id}{origin} {how}: {waiting} of its {held} records were not delivered"
                f"{UNTIL if later else ''}",
                min(levels.get(each or "", Level.GOLD) for each in left),
                {"shard": shard.id, "unread": waiting, "records": held, "messageIds": left[:5]},
            )
        )
    # What was never read at all says most.
    findings.sort(key=lambda finding: "never" not in finding.said)
    return judged(sum(shard.id in made and bool(shard.records) for shard in history.shards), findings)


@partial(
    _clause,
    id="parents-before-children",
    demand="A shard's parents are read to their end before it, so that a key's messages keep their order.",
    source="Amazon Kinesis Data Streams Developer Guide, After resharding",
    exercise="A shard is split, and two are merged, while they have unread records.",
    needed=2,
    rules=(shard_rules.CHILD_FIRST,),
)
def parents_before_children(history: History) -> Judgement:
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
            findings += [
                Finding(
                    f"{child} was read at {min(begun):.2f} s, when its parent {parent} still had "
                    "unread records",
                    reshard.level,
                    {"child": child, "parent": parent, "at": min(begun)},
                )
                for parent in reshard.parents
                if shard_rules.find_late(
                    min(begun), (first.get((parent, each), inf) for each in records[parent])
                )
            ]
    return judged(exposure, findings)
