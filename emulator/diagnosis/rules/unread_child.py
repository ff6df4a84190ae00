"""A shard that nobody reads, while its parents were read to the end."""

from __future__ import annotations

from collections.abc import Iterator

from emulator.diagnosis.rule import Harm, Judgement, Rule, Seen, count
from rdss_sandbox.shapes.diagnosis import Step
from rdss_sandbox.shapes.recorded_exchange import Exchange, ShardReads, ShardState, StreamState

PATIENCE_SECONDS = 30.0
"""How long a client may take from a shard's end to its first request for the children."""


def judge(exchange: Exchange) -> Judgement:
    looked, seen = 0, []
    for stream in exchange.streams:
        if stream.forgotten:
            continue
        for parent, reads in _read_to_the_end(exchange, stream):
            for child in filter(None, map(stream.shard, parent.children)):
                looked += 1
                if (found := _judge_child(exchange, stream, reads, child)) is not None:
                    seen.append(found)
    return Judgement(looked, tuple(seen))


def _read_to_the_end(exchange: Exchange, stream: StreamState) -> Iterator[tuple[ShardState, ShardReads]]:
    for reads in exchange.reads:
        parent = stream.shard(reads.shard) if reads.stream == stream.name else None
        if parent is not None and reads.ended_at is not None:
            yield parent, reads


def _judge_child(
    exchange: Exchange, stream: StreamState, reads: ShardReads, child: ShardState
) -> Seen | None:
    ends = [_ended_at(exchange, stream, parent) for parent in child.parents if stream.shard(parent)]
    ended = max((end for end in ends if end is not None), default=exchange.taken)
    waiting = child.next - child.first
    late = exchange.taken - ended >= PATIENCE_SECONDS
    if not waiting or not late or None in ends or _taken_over(exchange, stream, reads, child):
        return None
    parents = " and ".join(child.parents)
    said = (
        f"{reads.client} read {parents} to the end and never asked for {child.id}, its child: "
        f"{count(waiting, 'record')} there, unread"
    )
    return Seen(
        reads.client,
        stream.name,
        ended,
        said,
        {"parents": list(child.parents), "records": waiting, "waited": round(exchange.taken - ended, 3)},
        child.id,
        (
            Step(child.opened, f"{parents} was closed; {child.id} took over its hash keys"),
            Step(ended, f"{reads.client} was told that {parents} ends"),
        ),
    )


def _ended_at(exchange: Exchange, stream: StreamState, shard: str) -> float | None:
    """When a client was first told of a shard's end; None where none was."""
    ends = [
        each.ended_at
        for each in exchange.reads
        if each.stream == stream.name and each.shard == shard and each.ended_at is not None
    ]
    return min(ends, default=None)


def _taken_over(exchange: Exchange, stream: StreamState, reads: ShardReads, child: ShardState) -> bool:
    """Whether the client, or one that may share its work, has the child.

    Another client that read the parent to its end too reads the child for itself.
    """
    for each in exchange.reads:
        if (each.stream, each.shard) != (stream.name, child.id):
            continue
        if each.client == reads.client:
            return True
        parents = [exchange.reads_of(each.client, stream.name, parent) for parent in child.parents]
        if not any(parent is not None and parent.ended_at is not None for parent in parents):
            return True
    return any(lease.shard == child.id and lease.stream in {"", stream.name} for lease in exchange.leases)


RULE = Rule(
    id="unread-child",
    title="A shard that nobody reads after its parent",
    harm=Harm.LOSES,
    sign="A client is told of a shard's end and for 30 seconds asks for no child that has records.",
    sentence="After a reshard, data records go to the child shards; a consumer goes on with those.",
    source="Amazon Kinesis Data Streams Developer Guide, After resharding",
    advice="At a null NextShardIterator, read the ChildShards of that answer from TRIM_HORIZON.",
    judge=judge,
    patient=True,
)
