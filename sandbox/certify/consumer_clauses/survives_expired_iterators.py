"""An expired iterator is replaced by one at the same place."""

from __future__ import annotations

from emulator.diagnosis.rules import expired_iterator
from sandbox.certify.clause import Clause, Finding, Group, Judgement, Role, judged
from sandbox.certify.consumer_clauses.failed_reads import judge_failed_reads
from sandbox.certify.history import History, Level

EXPIRED = "ExpiredIteratorException"


def judge(history: History) -> Judgement:
    lived = judge_failed_reads(history, lambda read: read.error == EXPIRED)
    findings = list(lived.findings)
    reads = history.reads()
    for at, read in enumerate(reads):
        if read.error != EXPIRED:
            continue
        again = sum(each.iterator == read.iterator for each in reads[at + 1 :])
        asked = next(
            (each for each in history.iterator_requests() if each.at > read.at and each.shard == read.shard),
            None,
        )
        progress = any(each.records and each.shard == read.shard for each in reads[:at])
        if again:
            said = f"the expired iterator of {read.shard} was used {again} times more"
        elif asked and asked.start == "LATEST" and progress:
            said = f"after an expired iterator {read.shard} was read from LATEST, past what had not been read"
        elif asked and asked.start == "TRIM_HORIZON" and progress:
            said = f"after an expired iterator {read.shard} was read from TRIM_HORIZON, all over again"
        else:
            continue
        findings.append(Finding(said, history.level_at(read.at), {"shard": read.shard, "at": read.at}))
    return judged(lived.exposure, findings)


CLAUSE = Clause(
    id="survives-expired-iterators",
    role=Role.CONSUMER,
    group=Group.DELIVERY,
    level=Level.SILVER,
    demand="After ExpiredIteratorException the consumer asks for an iterator after the last record it had.",
    source="Amazon Kinesis API Reference, GetRecords: ExpiredIteratorException",
    exercise="A few iterators expire while there are records to read.",
    needed=2,
    judge=judge,
    rules=(expired_iterator.RULE,),
)
