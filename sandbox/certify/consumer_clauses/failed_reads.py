"""What the clauses on failed reads share: after a failure the same shard is read on, by the same process."""

from __future__ import annotations

from collections.abc import Callable, Collection

from sandbox.certify.clause import Finding, Judgement, judged
from sandbox.certify.exchange import Read
from sandbox.certify.history import History


def judge_failed_reads(
    history: History, stages: Collection[str], failed: Callable[[Read], bool]
) -> Judgement:
    """Judge how a consumer takes the reads that ``failed``: it must live, and get on in that shard."""
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
    findings += [
        Finding(
            f"the consumer ended by itself with exit code {life.code} during the stage {life.stage}",
            life.level,
            {"life": life.number, "code": life.code, "output": life.output[-3:]},
        )
        for life in history.lives
        if life.end == "itself" and life.stage in stages
    ]
    return judged(exposure, findings)
