"""Records that a client passed over, at its start or between the last one read and a restart."""

from __future__ import annotations

from collections.abc import Iterator

from emulator.diagnosis.rule import Harm, Judgement, Rule, Sighting, count
from rdss_sandbox.ranges import count_numbers, merge, subtract
from rdss_sandbox.shapes.diagnosis import Step
from rdss_sandbox.shapes.recorded_exchange import (
    Exchange,
    Reading,
    ShardReads,
    ShardState,
)

SETTLE_SECONDS = 5.0
"""How long a run may be quiet before the next and still go on: two workers may have one name."""


def judge_starts(exchange: Exchange) -> Judgement:
    """The first run of each shard."""
    looked, sightings = 0, []
    for reads, shard in _list_reads(exchange):
        first = reads.readings[0]
        # With runs that are forgotten before it, the first one known is no start.
        if reads.earlier or first.start != "LATEST":
            continue
        looked += 1
        skipped = subtract([(shard.first, first.first)], reads.delivered)
        if count_numbers(skipped):
            sightings.append(_describe_start(exchange, reads, shard, first, count_numbers(skipped)))
    return Judgement(looked, tuple(sightings))


def judge_restarts(exchange: Exchange) -> Judgement:
    """Every later run of each shard: what lies between what was delivered and its start."""
    looked, sightings = 0, []
    for reads, shard in _list_reads(exchange):
        for at, run in enumerate(reads.readings[1:], 1):
            looked += 1
            hole = _find_hole(exchange, reads, at)
            skipped = subtract([(max(hole[0], shard.first), hole[1])], reads.delivered) if hole else ()
            if count_numbers(skipped):
                sightings.append(_describe_restart(reads, run, skipped))
    return Judgement(looked, tuple(sightings))


def _list_reads(exchange: Exchange) -> Iterator[tuple[ShardReads, ShardState]]:
    """The reads of each shard that there is."""
    for reads in exchange.reads:
        stream = exchange.stream(reads.stream)
        # Reads that are forgotten would look like records that were skipped.
        shard = stream.shard(reads.shard) if stream is not None and not stream.forgotten else None
        if shard is not None:
            yield reads, shard


def _describe_start(
    exchange: Exchange, reads: ShardReads, shard: ShardState, run: Reading, skipped: int
) -> Sighting:
    parents = [exchange.reads_of(reads.client, reads.stream, each) for each in shard.parents]
    read = [each.shard for each in parents if each is not None and each.first_read <= run.began]
    where = f", the child of {' and '.join(read)}," if read else ""
    sentence = (
        f"{reads.client} began {shard.id}{where} at LATEST: {count(skipped, 'record')} that "
        f"{'was' if skipped == 1 else 'were'} there already, it never reads"
    )
    steps = [Step(each.ended_at, f"{each.shard} ended") for each in parents if each and each.ended_at]
    return Sighting(
        reads.client,
        reads.stream,
        run.began,
        sentence,
        {"skipped": skipped, "first": shard.first, "began": run.first},
        shard.id,
        (*steps, Step(run.began, f"{shard.id} was begun at LATEST, past {count(skipped, 'record')}")),
    )


def _find_hole(exchange: Exchange, reads: ShardReads, at: int) -> tuple[int, int] | None:
    """The records before the start of a run, from the end of what the client had before."""
    run, before = reads.readings[at], reads.readings[:at]
    quiet = all(each.last <= run.began for each in before)
    # A run whose beginning was not seen may have begun anywhere.
    if run.start == "" or not quiet or exchange.taken - run.began < SETTLE_SECONDS:
        return None
    ends = [end for _, end in reads.earlier] + [each.position for each in before]
    reached = max((end for end in ends if end <= run.first), default=run.first)
    # LATEST is no checkpoint, and so none of a colleague's.
    if reached == run.first or (run.start != "LATEST" and _others_had(exchange, reads, reached, run.first)):
        return None
    return reached, run.first


def _others_had(exchange: Exchange, reads: ShardReads, start: int, end: int) -> bool:
    """Whether other clients were given these records: a checkpoint may come from a colleague."""
    others = [
        piece
        for each in exchange.reads
        if (each.stream, each.shard) == (reads.stream, reads.shard) and each.client != reads.client
        for piece in each.delivered
    ]
    return not subtract([(start, end)], merge(*others))


def _describe_restart(reads: ShardReads, run: Reading, skipped: tuple[tuple[int, int], ...]) -> Sighting:
    lost = count_numbers(skipped)
    reached = skipped[0][0]
    expiry = next((each for each in reads.expiries if each.renewed == run.began), None)
    why = "after an iterator expired" if expiry else "after a restart"
    sentence = (
        f"{reads.client} had read {reads.shard} up to record {reached - 1:,} and went on {why} at "
        f"{run.start}, with record {run.first:,}: {count(lost, 'record')} in between, it never reads"
    )
    steps = [Step(run.began, f"it went on at {run.start}"), Step(run.began, f"{count(lost, 'record')} lost")]
    if expiry:
        cause = f", by the fault {expiry.fault}" if expiry.fault else ""
        steps.insert(0, Step(expiry.at, f"the iterator after record {reached - 1:,} expired{cause}"))
    return Sighting(
        reads.client,
        reads.stream,
        run.began,
        sentence,
        {"skipped": lost, "read_up_to": reached - 1, "went_on_at": run.first, "start": run.start},
        reads.shard,
        tuple(steps),
        (expiry.fault,) if expiry and expiry.fault else (),
    )


STARTS = Rule(
    id="skipped-at-start",
    title="Records skipped by starting at LATEST",
    harm=Harm.LOSES,
    sign="A client's first iterator of a shard is LATEST, and the shard holds records that it never reads.",
    sentence="LATEST starts just after the most recent record in the shard.",
    source="Amazon Kinesis Data Streams API Reference, GetShardIterator",
    advice="Start at TRIM_HORIZON where there is no checkpoint, and always on the child of a shard you read.",
    judge=judge_starts,
)

RESTARTS = Rule(
    id="skipped-at-restart",
    title="Records skipped between the last one read and a restart",
    harm=Harm.LOSES,
    sign="A later iterator of the client begins behind the last record that it was given.",
    sentence="To go on, ask for an iterator AFTER_SEQUENCE_NUMBER of the last record that was processed.",
    source="Amazon Kinesis Data Streams API Reference, GetShardIterator",
    advice="Keep the last sequence number of each shard and go on AFTER_SEQUENCE_NUMBER, never at LATEST.",
    judge=judge_restarts,
)
