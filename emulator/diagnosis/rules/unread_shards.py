"""Shards with records that a client never asks for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from emulator.diagnosis.rule import Harm, Judgement, Rule, Sighting, count
from rdss_sandbox.shapes.diagnosis import Step
from rdss_sandbox.shapes.recorded_exchange import Exchange, ShardReads, ShardState, StreamState

CHILD_SECONDS = 30.0
"""How long a client may take from a shard's end to its first request for the children."""
SHARD_SECONDS = 60.0
"""How long a client may take from its first read of a stream, or from a shard's creation."""
FEWEST_READS = 5
"""Who reads less often looks at a stream, and does not follow it."""


def count_left(first: int, end: int, reached: Iterable[int]) -> int:
    """Count the records at a shard's end, from ``first`` to before ``end``, that nobody was given.

    ``reached`` are the numbers behind records that were. What was skipped before them is another mistake.
    """
    return end - max([first, *reached])


def judge_children(exchange: Exchange) -> Judgement:
    looked, sightings = 0, []
    for stream in exchange.streams:
        if stream.forgotten:
            continue
        for parent, reads in _read_to_the_end(exchange, stream):
            for child in filter(None, map(stream.shard, parent.children)):
                looked += 1
                if (found := _judge_child(exchange, stream, reads, child)) is not None:
                    sightings.append(found)
    return Judgement(looked, tuple(sightings))


def _read_to_the_end(exchange: Exchange, stream: StreamState) -> Iterator[tuple[ShardState, ShardReads]]:
    for reads in exchange.reads:
        parent = stream.shard(reads.shard) if reads.stream == stream.name else None
        if parent is not None and reads.ended_at is not None:
            yield parent, reads


def _judge_child(
    exchange: Exchange, stream: StreamState, reads: ShardReads, child: ShardState
) -> Sighting | None:
    ends = [_ended_at(exchange, stream, parent) for parent in child.parents if stream.shard(parent)]
    ended = max((end for end in ends if end is not None), default=exchange.taken)
    waiting = count_left(child.first, child.next, ())
    late = exchange.taken - ended >= CHILD_SECONDS
    # The child of a merge is due when both of its parents have ended.
    if not waiting or not late or None in ends or _taken_over(exchange, stream, reads, child):
        return None
    parents = " and ".join(child.parents)
    sentence = (
        f"{reads.client} read {parents} to the end and never asked for {child.id}, its child: "
        f"{count(waiting, 'record')} there, unread"
    )
    return Sighting(
        reads.client,
        stream.name,
        ended,
        sentence,
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
    return _is_leased(exchange, stream, child)


def _is_leased(exchange: Exchange, stream: StreamState, shard: ShardState) -> bool:
    # A lease that names no stream may be of any.
    return any(lease.shard == shard.id and lease.stream in {"", stream.name} for lease in exchange.leases)


UNREAD_CHILD = Rule(
    id="unread-child",
    title="A shard that nobody reads after its parent",
    harm=Harm.LOSES,
    sign="A client is told of a shard's end and for 30 seconds asks for no child that has records.",
    sentence="After a reshard, data records go to the child shards; a consumer goes on with those.",
    source="Amazon Kinesis Data Streams Developer Guide, After resharding",
    advice="At a null NextShardIterator, read the ChildShards of that answer from TRIM_HORIZON.",
    judge=judge_children,
    patient=True,
)


def judge_shards(exchange: Exchange) -> Judgement:
    looked, sightings = 0, []
    for stream in exchange.streams:
        if stream.forgotten or len(stream.shards) < 2:
            continue
        for client, reads in _list_followers(exchange, stream):
            for shard in _list_ready(stream, reads):
                looked += 1
                if (found := _judge_shard(exchange, stream, client, reads, shard)) is not None:
                    sightings.append(found)
    return Judgement(looked, tuple(sightings))


def _list_followers(exchange: Exchange, stream: StreamState) -> Iterator[tuple[str, dict[str, ShardReads]]]:
    """The clients that follow a stream, with what each read, by shard."""
    for client in dict.fromkeys(each.client for each in exchange.reads if each.stream == stream.name):
        reads = _reads_of(exchange, stream, client)
        if sum(run.reads for each in reads.values() for run in each.readings) >= FEWEST_READS:
            yield client, reads


def _reads_of(exchange: Exchange, stream: StreamState, client: str) -> dict[str, ShardReads]:
    return {
        each.shard: each for each in exchange.reads if (each.stream, each.client) == (stream.name, client)
    }


def _list_ready(stream: StreamState, reads: dict[str, ShardReads]) -> Iterator[ShardState]:
    """The shards that are for the client to read: those without parents, or beside a child that it reads.

    A child whose parent it reads is another rule's: it comes when the parent is at its end.
    """
    siblings = {stream.shard(each).parents for each in reads if stream.shard(each)}  # type: ignore[union-attr]
    for shard in stream.shards:
        parents = [each for each in shard.parents if stream.shard(each)]
        if not parents or (shard.parents in siblings and not reads.keys() & set(parents)):
            yield shard


def _judge_shard(
    exchange: Exchange, stream: StreamState, client: str, reads: dict[str, ShardReads], shard: ShardState
) -> Sighting | None:
    waiting = count_left(shard.first, shard.next, ())
    since = max(min(each.first_read for each in reads.values()), shard.opened)
    late = exchange.taken - since >= SHARD_SECONDS
    if shard.id in reads or not waiting or not late or _is_anothers(exchange, stream, reads, shard):
        return None
    read = sorted(reads)
    sentence = (
        f"{client} reads {count(len(read), 'shard')} of {stream.name} and never asked for {shard.id}: "
        f"{count(waiting, 'record')} there, unread"
    )
    waited = round(exchange.taken - since, 3)
    return Sighting(
        client,
        stream.name,
        since,
        sentence,
        {"shards": read[:FEWEST_READS], "records": waiting, "waited": waited},
        shard.id,
    )


def _is_anothers(
    exchange: Exchange, stream: StreamState, reads: dict[str, ShardReads], shard: ShardState
) -> bool:
    """Whether a colleague may have the shard: by a lease, or one that reads none of the client's shards."""
    others = [each.client for each in exchange.reads if (each.stream, each.shard) == (stream.name, shard.id)]
    return any(reads.keys().isdisjoint(_reads_of(exchange, stream, each)) for each in others) or _is_leased(
        exchange, stream, shard
    )


UNREAD_SHARD = Rule(
    id="unread-shard",
    title="A shard that a client never asks for",
    harm=Harm.LOSES,
    sign=(
        f"A client reads some shards of a stream {FEWEST_READS} times or more, and for "
        f"{SHARD_SECONDS:.0f} seconds asks for none of another that has records, which no lease and no "
        "client beside it has."
    ),
    sentence="A consumer reads every shard of its stream, by itself or with others that share the work.",
    source="Amazon Kinesis Data Streams Developer Guide, Key concepts: shard",
    advice="List the shards (ListShards, all of its pages) and read each, not the first one alone.",
    judge=judge_shards,
    patient=True,
)
