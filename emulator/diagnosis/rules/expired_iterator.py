"""An iterator that expired, and what the client did then."""

from __future__ import annotations

from emulator.diagnosis.rule import Harm, Judgement, Rule, Sighting, count
from emulator.diagnosis.rules import read_again, skipped_records
from emulator.diagnosis.rules.unread_shards import count_left
from rdss_sandbox.shapes.diagnosis import Step
from rdss_sandbox.shapes.recorded_exchange import Exchange, Expiry, ShardReads

LIFETIME_SECONDS = 300.0
_PATIENCE_SECONDS = 30.0
_TIMES_AGAIN = 2
_ANEW = {
    "LATEST": "the shard was read from LATEST, past what had not been read",
    "TRIM_HORIZON": "the shard was read from TRIM_HORIZON, all over again",
}


def judge(exchange: Exchange) -> Judgement:
    """An expiry that a fault, or a clock set forward, caused is none of the client's; its reaction is.

    An expiry after which records were skipped, or read again, is the first step of that story alone.
    """
    stories = (*skipped_records.judge_restarts(exchange).sightings, *read_again.judge(exchange).sightings)
    steps_of_stories = {(each.client, each.stream, each.shard, each.at) for each in stories}
    looked, sightings = 0, []
    for reads in exchange.reads:
        for expiry in reads.expiries:
            looked += 1
            if (reads.client, reads.stream, reads.shard, expiry.renewed) in steps_of_stories:
                continue
            if (wrong := _find_wrong(exchange, reads, expiry)) is not None:
                cause = f", by the fault {expiry.fault}" if expiry.fault else ""
                sightings.append(
                    Sighting(
                        reads.client,
                        reads.stream,
                        expiry.at,
                        f"{reads.client}'s iterator of {reads.shard} expired{cause}; {wrong}",
                        {
                            "record": expiry.ordinal,
                            "idle": round(expiry.idle, 3),
                            "again": expiry.again,
                            "renewed": expiry.renewed,
                        },
                        reads.shard,
                        (Step(expiry.at, f"the iterator expired{cause}"), Step(expiry.at, wrong)),
                        (expiry.fault,) if expiry.fault else (),
                    )
                )
    return Judgement(looked, tuple(sightings))


def find_reaction(again: int, waiting: int = 0, start: str = "") -> str | None:
    """What is wrong about how a client takes an expiry, in words; None for nothing.

    It used the iterator ``again`` so often; or asks for no other, while so many records are ``waiting``; or
    goes on at ``start``, though it had records. What it skips then, or reads again, other rules judge.
    """
    if again:
        return f"it was used {count(again, 'time')} more"
    if waiting > 0:
        return f"the client asked for no other, and {count(waiting, 'record')} wait{'s' * (waiting == 1)}"
    return _ANEW.get(start)


def _find_wrong(exchange: Exchange, reads: ShardReads, expiry: Expiry) -> str | None:
    stream = exchange.stream(reads.stream)
    shard = stream.shard(reads.shard) if stream is not None else None
    waiting = count_left(shard.first, shard.next, [expiry.ordinal]) if shard is not None else 0
    later = expiry.renewed is not None or any(each.began >= expiry.at for each in reads.readings)
    patient = later or exchange.taken - expiry.at < _PATIENCE_SECONDS
    again = expiry.again if expiry.again >= _TIMES_AGAIN else 0
    if wrong := find_reaction(again, 0 if patient else waiting):
        return wrong
    if not expiry.fault and expiry.idle >= LIFETIME_SECONDS:
        return f"it was held for {expiry.idle:.0f} s, and one lives {LIFETIME_SECONDS:.0f} s"
    return None


RULE = Rule(
    id="expired-iterator",
    title="An iterator that expired",
    harm=Harm.STALLS,
    sign=(
        "GetRecords answers ExpiredIteratorException to an iterator older than 300 real seconds; or the same "
        "iterator comes again, or no other for 30 seconds while records wait."
    ),
    sentence="A shard iterator expires 5 minutes after it is returned to the requester.",
    source="Amazon Kinesis Data Streams API Reference, GetRecords",
    advice="Read more often than every five minutes, and after an expiry ask AFTER the last sequence number.",
    judge=judge,
    patient=True,
)
