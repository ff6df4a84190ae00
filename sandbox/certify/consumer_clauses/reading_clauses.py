"""The clauses on how shards are read: after failures and expired iterators, and within the limits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from functools import partial

from emulator.diagnosis.rules import expired_iterator, shard_rules
from rdss_sandbox.shapes.recorded_exchange import PACE_READS
from rdss_sandbox.shapes.trace import Read
from sandbox.certify.clause import (
    NEVER_LANDED,
    NEVER_USED,
    UNTIL,
    Clause,
    Group,
    Judgement,
    Role,
    judged,
    report,
)
from sandbox.certify.history import History, Level

_clause = partial(Clause, role=Role.CONSUMER, group=Group.DELIVERY)

EXPIRED = "ExpiredIteratorException"
_ERRORS = frozenset({"InternalFailure", "InternalFailureException", "disconnect"})
_THROTTLED = frozenset({"ProvisionedThroughputExceededException", "LimitExceededException"})


def judge_failed_reads(history: History, failed: Callable[[Read], bool]) -> Judgement:
    """Judge how a consumer takes the reads that ``failed``: the same start must get on in that shard.

    A failed read of a shard that held nothing more is no opportunity when the consumer did not come back: it
    may have been ended before.
    """
    reads = history.reads()
    unread = {
        shard.id: [history.put_at.get((shard.id, number), 0.0) for number, _ in history.unread(shard)]
        for shard in history.shards
    }
    findings, exposure = [], 0
    for at, read in enumerate(reads):
        if not failed(read):
            continue
        later = any(
            each.shard == read.shard and each.life == read.life and not each.error for each in reads[at + 1 :]
        )
        end = history.end_of(read.at).at
        left = sum(put <= end for put in unread.get(read.shard, ()))
        exposure += later or left > 0
        skipped = sum(put <= read.at for put in unread.get(read.shard, ()))
        if (left and not later) or skipped:
            again = not later and any(each.shard == read.shard for each in reads[at + 1 :])
            how = "was read on past what lay there" if later else "was not read again"
            sentence = (
                f"{read.shard} {how} after {read.error} at {read.at:.2f} s: "
                f"{skipped if later else left} of its records were not delivered{UNTIL if again else ''}"
            )
            findings.append(report(history, read.at, sentence, shard=read.shard))
    return judged(exposure, findings)


@partial(
    _clause,
    id="survives-errors",
    level=Level.SILVER,
    demand="A read that fails with a server's error, or whose connection is cut, is tried again.",
    source="Amazon Kinesis API Reference, Common Errors: InternalFailure",
    exercise="A few reads are answered with InternalFailure, and one connection is cut.",
    advice="Catch server errors and cut connections, and read with the same iterator again.",
    needed=2,
)
def survives_errors(history: History) -> Judgement:
    return judge_failed_reads(history, lambda read: read.error in _ERRORS)


@partial(
    _clause,
    id="survives-throttling",
    level=Level.SILVER,
    demand="A read that is refused for lack of throughput is tried again, and the consumer lives.",
    source="Amazon Kinesis API Reference, GetRecords: ProvisionedThroughputExceededException",
    exercise="A few reads are refused, and pass when they are tried again.",
    advice="Catch the refusal, wait, and read with the same iterator again, for longer than the SDK does.",
    needed=2,
)
def survives_throttling(history: History) -> Judgement:
    return judge_failed_reads(history, lambda read: read.error in _THROTTLED)


@partial(
    _clause,
    id="survives-expired-iterators",
    level=Level.SILVER,
    demand="After ExpiredIteratorException the consumer asks for an iterator after the last record it had.",
    source="Amazon Kinesis API Reference, GetRecords: ExpiredIteratorException",
    exercise="A few iterators expire while there are records to read.",
    needed=2,
    rules=(expired_iterator.RULE,),
)
def survives_expired_iterators(history: History) -> Judgement:
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
        if wrong := expired_iterator.find_reaction(again, start=asked.start if asked and progress else ""):
            sentence = f"an iterator of {read.shard} expired; {wrong}"
            findings.append(report(history, read.at, sentence, shard=read.shard))
    pushed = all(read.pushed for read in reads)
    return judged(lived.exposure, findings, NEVER_USED if reads and pushed else NEVER_LANDED)


@partial(
    _clause,
    id="reads-within-limits",
    level=Level.BRONZE,
    demand="A shard is read five times a second at most.",
    source="Amazon Kinesis Data Streams Developer Guide, Quotas: five read transactions per second",
    exercise="The consumer's own reads are counted, those that were refused left out.",
    needed=10,
    rules=(shard_rules.TOO_OFTEN,),
)
def reads_within_limits(history: History) -> Judgement:
    """Judge each shard in each start by the rule's measure. What is pushed keeps to the limits by itself."""
    times: dict[tuple[int, str], list[float]] = defaultdict(list)
    for read in history.reads():
        if not read.pushed and not read.error:
            times[read.life, read.shard].append(read.at)
    findings = [
        report(
            history,
            burst.start,
            f"{shard} was read {PACE_READS} times in {burst.seconds:.2f} s, from {burst.start:.2f} s on; "
            f"five a second are allowed{_explain(history, life, shard, burst)}",
            shard=shard,
        )
        for (life, shard), moments in times.items()
        if (burst := shard_rules.find_burst(moments)) is not None
    ]
    pushed = sum(read.pushed for read in history.reads())
    return judged(pushed + sum(len(moments) for moments in times.values()), findings)


def _explain(history: History, life: int, shard: str, burst: shard_rules.Burst) -> str:
    """What the client was given in a burst, where that says why it asked again at once."""
    end = burst.start + burst.seconds
    empty = sum(
        not read.records and not read.ended
        for read in history.reads()
        if read.life == life and read.shard == shard and burst.start <= read.at <= end
    )
    return f". {empty} of these answers were empty" if empty else ""
