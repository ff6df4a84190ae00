"""Partition keys that all land on one shard."""

from __future__ import annotations

from emulator.diagnosis.rule import Harm, Judgement, Rule, Seen, count
from rdss_sandbox.shapes.recorded_exchange import Exchange

_ENOUGH = 100


def judge(exchange: Exchange) -> Judgement:
    """Judges the open shards of a stream, by what was put since they were all open."""
    looked, seen = 0, []
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
        said = (
            f"{stream.name}: all {total:,} records, with {count(stream.contents.keys, 'partition key')}, "
            f"went to {shard}, one of {len(by_shard)} open shards"
        )
        evidence = {"records": total, "keys": stream.contents.keys, "shards": len(by_shard)}
        client = writers[0] if len(writers) == 1 else None
        seen.append(Seen(client, stream.name, exchange.taken, said, evidence, shard))
    return Judgement(looked, tuple(seen))


RULE = Rule(
    id="one-shard",
    title="Partition keys that all land on one shard",
    harm=Harm.WASTES,
    sign=f"A stream with two shards or more got {_ENOUGH} records or more, all of them in one shard.",
    sentence="The partition key spreads records over the shards; there should be many more keys than shards.",
    source="Amazon Kinesis Data Streams Developer Guide, Key concepts: partition key",
    advice="Use a partition key with many values, such as the messageId, or the key whose order matters.",
    judge=judge,
)
