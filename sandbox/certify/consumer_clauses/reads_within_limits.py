"""A shard is read no more often than its limit."""

from __future__ import annotations

from collections import defaultdict

from emulator.diagnosis.rules import reads_too_often
from rdss_sandbox.shapes.recorded_exchange import PACE_READS
from sandbox.certify.clause import Clause, Finding, Group, Judgement, Role, judged
from sandbox.certify.history import History, Level


def judge(history: History) -> Judgement:
    """Judge each shard in each start by the rule's measure; pushed events are no reads."""
    times: dict[tuple[int, str], list[float]] = defaultdict(list)
    for read in history.reads():
        if not read.pushed and not read.error:
            times[read.life, read.shard].append(read.at)
    findings = [
        Finding(
            f"{shard} was read {PACE_READS} times in {burst.seconds:.2f} s, from {burst.start:.2f} s on; "
            "five a second are allowed",
            history.level_at(burst.start),
            {"shard": shard, "life": life, "seconds": burst.seconds},
        )
        for (life, shard), seen in times.items()
        if (burst := reads_too_often.find_burst(seen)) is not None
    ]
    return judged(sum(len(seen) for seen in times.values()), findings)


CLAUSE = Clause(
    id="reads-within-limits",
    role=Role.CONSUMER,
    group=Group.DELIVERY,
    level=Level.BRONZE,
    demand="A shard is read five times a second at most.",
    source="Amazon Kinesis Data Streams Developer Guide, Quotas: five read transactions per second",
    exercise="The consumer's own reads are counted, those that were refused left out.",
    needed=10,
    judge=judge,
    rules=(reads_too_often.RULE,),
)
