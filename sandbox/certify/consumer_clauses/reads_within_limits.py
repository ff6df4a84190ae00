"""A shard is read no more often than its limit."""

from __future__ import annotations

from collections import defaultdict

from sandbox.certify.clause import Clause, Finding, Group, Judgement, Role, judged
from sandbox.certify.history import History, Level

_MOST_A_SECOND = 5
_SECONDS = 3.0


def judge(history: History) -> Judgement:
    """More than five reads a second of a shard for three seconds are a breach; pushed events are no reads."""
    times: dict[tuple[int, str], list[float]] = defaultdict(list)
    for read in history.reads():
        if not read.pushed and not read.error:
            times[read.life, read.shard].append(read.at)
    most = int(_MOST_A_SECOND * _SECONDS)
    findings = []
    for (life, shard), seen in times.items():
        for start in range(len(seen) - most):
            took = seen[start + most] - seen[start]
            if took < _SECONDS:
                findings.append(
                    Finding(
                        f"{shard} was read {most + 1} times in {took:.2f} s, from {seen[start]:.2f} s on; "
                        f"{_MOST_A_SECOND} a second are allowed",
                        history.level_at(seen[start]),
                        {"shard": shard, "life": life, "seconds": took},
                    )
                )
                break
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
)
