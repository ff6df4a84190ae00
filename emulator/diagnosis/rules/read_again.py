"""Records that a client read again after a restart, because it kept no checkpoint."""

from __future__ import annotations

from emulator.diagnosis.rule import Harm, Judgement, Rule, Sighting, count
from emulator.diagnosis.rules.skipped_records import SETTLE_SECONDS
from rdss_sandbox.ranges import count_numbers, merge, subtract
from rdss_sandbox.shapes.diagnosis import Step
from rdss_sandbox.shapes.recorded_exchange import Exchange, Reading, ShardReads

_WITHOUT_CHECKPOINT = ("TRIM_HORIZON", "AT_TIMESTAMP")
_LEAST_READS = 3
_LEAST_SECONDS = 2.0


def judge(exchange: Exchange) -> Judgement:
    looked, sightings = 0, []
    for reads in exchange.reads:
        for at, run in enumerate(reads.readings[1:], 1):
            before = reads.readings[:at]
            if not any(map(_consumes, before)):
                continue
            looked += 1
            # A run that goes on beside this one is of another worker with the same name.
            quiet = all(each.last <= run.began for each in before)
            if run.start in _WITHOUT_CHECKPOINT and quiet and exchange.taken - run.began >= SETTLE_SECONDS:
                sightings += _describe(reads, run, before)
    return Judgement(looked, tuple(sightings))


def _consumes(run: Reading) -> bool:
    """Whether a run follows the shard as a consumer does: one that looks at a stream reads once or twice."""
    return run.reads >= _LEAST_READS and run.last - run.began >= _LEAST_SECONDS


def _describe(reads: ShardReads, run: Reading, before: tuple[Reading, ...]) -> list[Sighting]:
    had = merge(*reads.earlier, *((each.first, each.position) for each in before))
    ran = [(run.first, run.position)]
    again = count_numbers(ran) - count_numbers(subtract(ran, had))
    if not again:
        return []
    sentence = (
        f"{reads.client} had read {reads.shard} up to record {had[-1][1] - 1:,} and began again at "
        f"{run.start}: {count(again, 'record')} came twice"
    )
    expiry = next((each for each in reads.expiries if each.renewed == run.began), None)
    steps = [Step(run.began, f"it began again at {run.start}")]
    if expiry:
        cause = f", by the fault {expiry.fault}" if expiry.fault else ""
        steps.insert(0, Step(expiry.at, f"an iterator expired{cause}"))
    evidence = {"again": again, "read_up_to": had[-1][1] - 1, "start": run.start}
    faults = (expiry.fault,) if expiry and expiry.fault else ()
    return [
        Sighting(reads.client, reads.stream, run.began, sentence, evidence, reads.shard, tuple(steps), faults)
    ]


RULE = Rule(
    id="read-again",
    title="Records read again after a restart",
    harm=Harm.REPEATS,
    sign="A client that followed a shard asks for an iterator without a checkpoint and gets old records.",
    sentence="A consumer keeps a checkpoint while it runs, so that a restart goes on where it was.",
    source="Amazon Kinesis Data Streams Developer Guide, Handle duplicate records",
    advice="Keep the last sequence number of each shard while running and go on AFTER_SEQUENCE_NUMBER.",
    judge=judge,
)
