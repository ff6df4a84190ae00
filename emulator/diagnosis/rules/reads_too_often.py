"""A loop that reads a shard more often than five times a second."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from emulator.diagnosis.rule import Harm, Judgement, Rule, Seen
from rdss_sandbox.shapes.recorded_exchange import PACE_READS, PACE_SECONDS, Exchange


class Burst(NamedTuple):
    """``PACE_READS`` reads of a shard within ``seconds``, from ``start`` on."""

    start: float
    seconds: float


def find_burst(times: Sequence[float]) -> Burst | None:
    """Find the shortest burst of reads at these times, in seconds; None where none is below the limit."""
    bursts = (Burst(first, last - first) for first, last in zip(times, times[PACE_READS - 1 :], strict=False))
    return min(
        (each for each in bursts if each.seconds < PACE_SECONDS), key=lambda each: each.seconds, default=None
    )


def judge(exchange: Exchange) -> Judgement:
    looked, seen = 0, []
    for reads in exchange.reads:
        looked += sum(each.reads >= PACE_READS for each in reads.readings)
        fastest = min(
            (run for run in reads.readings if run.busiest is not None),
            key=lambda run: run.busiest or PACE_SECONDS,
            default=None,
        )
        if fastest is not None and fastest.busiest is not None:
            said = (
                f"{reads.client} read {reads.shard} {PACE_READS} times in {fastest.busiest:.2f} s; "
                "five a second are allowed"
            )
            evidence = {"reads": PACE_READS, "seconds": round(fastest.busiest, 3), "run": fastest.reads}
            seen.append(Seen(reads.client, reads.stream, fastest.last, said, evidence, reads.shard))
    return Judgement(looked, tuple(seen))


RULE = Rule(
    id="reads-too-often",
    title="A shard read more than five times a second",
    harm=Harm.WASTES,
    sign=f"One loop makes {PACE_READS} GetRecords calls on a shard within {PACE_SECONDS:.0f} real seconds.",
    sentence="Each shard supports up to five read transactions per second.",
    source="Amazon Kinesis Data Streams Developer Guide, Quotas and limits",
    advice="Wait about a second between reads of a shard, or use enhanced fan-out.",
    judge=judge,
)
