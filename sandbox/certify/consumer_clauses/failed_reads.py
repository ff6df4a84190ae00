"""The clauses on failed reads: after a failure the same shard is read on."""

from __future__ import annotations

from collections.abc import Callable

from sandbox.certify.clause import Clause, Finding, Group, Judgement, Role, judged
from sandbox.certify.exchange import Read
from sandbox.certify.history import History, Level

_ERRORS = frozenset({"InternalFailure", "disconnect"})
THROTTLED = "ProvisionedThroughputExceededException"


def judge_failed_reads(history: History, failed: Callable[[Read], bool]) -> Judgement:
    """Judge how a consumer takes the reads that ``failed``: it must get on in that shard.

    A failed read of a shard that held nothing more is no opportunity when the consumer did not come back: it
    may have been ended before.
    """
    reads = history.reads()
    given = {(read.shard, each.sequence_number) for read in reads for each in read.records}
    unread = {
        shard.id: sum((shard.id, number) not in given for number, _ in shard.records)
        for shard in history.shards
    }
    findings, exposure = [], 0
    for at, read in enumerate(reads):
        if not failed(read):
            continue
        later = any(each.shard == read.shard and not each.error for each in reads[at + 1 :])
        left = unread.get(read.shard, 0)
        exposure += later or left > 0
        if left and not later:
            findings.append(
                Finding(
                    f"{read.shard} was not read again after {read.error} at {read.at:.2f} s: "
                    f"{left} of its records were not delivered",
                    history.level_at(read.at),
                    {"shard": read.shard, "error": read.error, "at": read.at, "unread": left},
                )
            )
    return judged(exposure, findings)


ERRORS = Clause(
    id="survives-errors",
    role=Role.CONSUMER,
    group=Group.DELIVERY,
    level=Level.SILVER,
    demand="A read that fails with a server's error, or whose connection is cut, is tried again.",
    source="Amazon Kinesis API Reference, Common Errors: InternalFailure",
    exercise="A few reads are answered with InternalFailure, and one connection is cut.",
    needed=2,
    judge=lambda history: judge_failed_reads(history, lambda read: read.error in _ERRORS),
)

THROTTLING = Clause(
    id="survives-throttling",
    role=Role.CONSUMER,
    group=Group.DELIVERY,
    level=Level.SILVER,
    demand="A read that is refused for lack of throughput is tried again, and the consumer lives.",
    source="Amazon Kinesis API Reference, GetRecords: ProvisionedThroughputExceededException",
    exercise="A few reads are refused, and pass when they are tried again.",
    needed=2,
    judge=lambda history: judge_failed_reads(history, lambda read: read.error == THROTTLED),
)
