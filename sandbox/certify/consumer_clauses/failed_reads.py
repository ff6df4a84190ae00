"""What the clauses on failed reads share: after a failure the same shard is read on."""

from __future__ import annotations

from collections.abc import Callable

from sandbox.certify.clause import Finding, Judgement, judged
from sandbox.certify.exchange import Read
from sandbox.certify.history import History


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
