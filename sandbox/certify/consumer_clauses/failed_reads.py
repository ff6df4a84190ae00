"""What the clauses on failed reads share: after a failure the same shard is read on."""

from __future__ import annotations

from collections.abc import Callable

from sandbox.certify.clause import Finding, Judgement, judged
from sandbox.certify.exchange import Read
from sandbox.certify.history import History


def judge_failed_reads(history: History, failed: Callable[[Read], bool]) -> Judgement:
    """Judge how a consumer takes the reads that ``failed``: it must get on in that shard."""
    reads = history.reads()
    findings, exposure = [], 0
    for at, read in enumerate(reads):
        if not failed(read):
            continue
        exposure += 1
        later = [each for each in reads[at + 1 :] if each.shard == read.shard and not each.error]
        if not later:
            findings.append(
                Finding(
                    f"{read.shard} was not read again after {read.error} at {read.at:.2f} s",
                    history.level_at(read.at),
                    {"shard": read.shard, "error": read.error, "at": read.at},
                )
            )
    return judged(exposure, findings)
