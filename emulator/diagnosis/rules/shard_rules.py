"""How shards are read, and filled: too often, a child too early, and all into one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from emulator.diagnosis.rule import Harm, Judgement, Rule, Sighting, count
from rdss_sandbox.shapes.diagnosis import Step
from rdss_sandbox.shapes.recorded_exchange import PACE_READS, PACE_SECONDS, Exchange, ShardReads


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


def judge_pace(exchange: Exchange) -> Judgement:
    looked, sightings = 0, []
    for reads in exchange.reads:
        looked += sum(each.reads for each in reads.readings) >= PACE_READS
        fastest = min(
            (run for run in reads.readings if run.busiest is not None),
            key=lambda run: run.busiest or PACE_SECONDS,
            default=None,
        )
        if fastest is not None and fastest.busiest is not None:
            sentence = (
                f"{reads.client} read {reads.shard} {PACE_READS} times in {fastest.busiest:.2f} s; "
                "five a second are allowed"
            )
            evidence = {"reads": PACE_READS, "seconds": round(fastest.busiest, 3), "run": fastest.reads}
            sightings.append(
                Sighting(reads.client, reads.stream, fastest.last, sentence, evidence, reads.shard)
            )
    return Judgement(looked, tuple(sightings))


TOO_OFTEN = Rule(
    id="reads-too-often",
    title="A shard read more than five times a second",
    harm=Harm.WASTES,
    sign=f"One loop makes {PACE_READS} GetRecords calls on a shard within {PACE_SECONDS:.0f} real seconds.",
    sentence="Each shard supports up to five read transactions per second.",
    source="Amazon Kinesis Data Streams Developer Guide, Quotas and limits",
    advice="Wait about a second between reads of a shard, or use enhanced fan-out.",
    judge=judge_pace,
)


def judge_order(exchange: Exchange) -> Judgement:
    """A record of the parent that came after one of the child shows it; both runs were open at that time."""
    looked = 0
    sightings: list[Sighting] = []
    for stream in exchange.streams:
        for reads in exchange.reads:
            child = stream.shard(reads.shard) if reads.stream == stream.name else None
            began = min((each.delivered[0] for each in reads.readings if each.delivered), default=None)
            if child is None or began is None:
                continue
            for parent in filter(
                None, (exchange.reads_of(reads.client, stream.name, p) for p in child.parents)
            ):
                looked += 1
                sightings += _list_breaches(reads, parent, began)
    return Judgement(looked, tuple(sightings))


def find_late(began: float, came: Iterable[float]) -> list[float]:
    """Find which records of a parent came after ``began``, when the first record of its child did.

    ``came`` are the times at which the parent's records were delivered; infinity for never.
    """
    return [at for at in came if at > began]


def _list_breaches(child: ShardReads, parent: ShardReads, began: float) -> Iterator[Sighting]:
    drained = parent.ended_at is not None and parent.ended_at <= began
    runs = [each.delivered[1] for each in parent.readings if each.delivered and each.began <= began]
    late = find_late(began, runs)
    if drained or not late:
        return
    sentence = (
        f"{child.client} was given records of {child.shard} while its parent {parent.shard} still had some: "
        "a key's messages came out of order"
    )
    yield Sighting(
        child.client,
        child.stream,
        began,
        sentence,
        {"child": child.shard, "parent": parent.shard, "seconds": round(max(late) - began, 3)},
        child.shard,
        (
            Step(began, f"the first records of {child.shard}"),
            Step(max(late), f"later, records of its parent {parent.shard}"),
        ),
    )


CHILD_FIRST = Rule(
    id="child-before-parent",
    title="A child shard read before its parent was drained",
    harm=Harm.REORDERS,
    sign="A client that reads both is given records of a parent after the first records of its child.",
    sentence="Data that was in the parent shards before the reshard is read first, to keep a key's order.",
    source="Amazon Kinesis Data Streams Developer Guide, After resharding",
    advice="Open a shard only when each of its parents has returned a null NextShardIterator.",
    judge=judge_order,
)


# The keys of fewer records may share a shard by chance.
_ENOUGH = 100


def judge_spread(exchange: Exchange) -> Judgement:
    """Judges the open shards of a stream, by what was put since they were all open."""
    looked, sightings = 0, []
    for stream in exchange.streams:
        by_shard = stream.contents.by_shard
        total = sum(by_shard.values())
        if len(by_shard) < 2 or total < _ENOUGH:
            continue
        looked += 1
        shard, most = max(by_shard.items(), key=lambda item: item[1])
        if most < total:
            continue
        writers = stream.contents.writers
        sentence = (
            f"{stream.name}: all {total:,} records, with {count(stream.contents.keys, 'partition key')}, "
            f"went to {shard}, one of {len(by_shard)} open shards"
        )
        evidence = {"records": total, "keys": stream.contents.keys, "shards": len(by_shard)}
        client = writers[0] if len(writers) == 1 else None
        sightings.append(Sighting(client, stream.name, exchange.taken, sentence, evidence, shard))
    return Judgement(looked, tuple(sightings))


ONE_SHARD = Rule(
    id="one-shard",
    title="Partition keys that all land on one shard",
    harm=Harm.WASTES,
    sign=f"A stream with two shards or more got {_ENOUGH} records or more, all of them in one shard.",
    sentence="The partition key spreads records over the shards; there should be many more keys than shards.",
    source="Amazon Kinesis Data Streams Developer Guide, Key concepts: partition key",
    advice="Use a partition key with many values, such as the messageId, or the key whose order matters.",
    judge=judge_spread,
)
