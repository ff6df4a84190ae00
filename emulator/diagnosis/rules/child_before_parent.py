"""A child shard that was read before its parent was drained."""

from __future__ import annotations

from collections.abc import Iterator

from emulator.diagnosis.rule import Harm, Judgement, Rule, Seen
from rdss_sandbox.shapes.diagnosis import Step
from rdss_sandbox.shapes.recorded_exchange import Exchange, ShardReads


def judge(exchange: Exchange) -> Judgement:
    """A record of the parent that came after one of the child shows it; both runs were open at that time."""
    looked = 0
    seen: list[Seen] = []
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
                seen += _list_breaches(reads, parent, began)
    return Judgement(looked, tuple(seen))


def _list_breaches(child: ShardReads, parent: ShardReads, began: float) -> Iterator[Seen]:
    drained = parent.ended_at is not None and parent.ended_at <= began
    late = [
        each.delivered[1]
        for each in parent.readings
        if each.delivered and each.began <= began < each.delivered[1]
    ]
    if drained or not late:
        return
    said = (
        f"{child.client} was given records of {child.shard} while its parent {parent.shard} still had some: "
        "a key's messages came out of order"
    )
    yield Seen(
        child.client,
        child.stream,
        began,
        said,
        {"child": child.shard, "parent": parent.shard, "seconds": round(max(late) - began, 3)},
        child.shard,
        (
            Step(began, f"the first records of {child.shard}"),
            Step(max(late), f"later, records of its parent {parent.shard}"),
        ),
    )


RULE = Rule(
    id="child-before-parent",
    title="A child shard read before its parent was drained",
    harm=Harm.REORDERS,
    sign="A client that reads both is given records of a parent after the first records of its child.",
    sentence="Data that was in the parent shards before the reshard is read first, to keep a key's order.",
    source="Amazon Kinesis Data Streams Developer Guide, After resharding",
    advice="Open a shard only when each of its parents has returned a null NextShardIterator.",
    judge=judge,
)
