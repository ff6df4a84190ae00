"""Records that a client puts one by one although there are many: what ``sandbox diagnose`` says of it."""

from emulator.diagnosis.rule import Harm, Judgement, Rule, Sighting
from rdss_sandbox.shapes.recorded_exchange import Exchange

_ENOUGH = 50
_PER_SECOND = 10


def judge(exchange: Exchange) -> Judgement:
    """Who puts a record now and then has no batch to put, and is not looked at."""
    looked = [
        each
        for each in exchange.writings
        if each.records >= _ENOUGH and each.records >= _PER_SECOND * (each.last - each.first)
    ]
    seen = (
        Sighting(
            each.client,
            each.stream,
            each.last,
            f"{each.client} put {each.records:,} records in {each.calls:,} calls",
            {"records": each.records, "calls": each.calls},
        )
        for each in looked
        if each.calls >= each.records
    )
    return Judgement(len(looked), tuple(seen))


RULE = Rule(
    id="puts-one-by-one",
    title="Many records, each in a call of its own",
    harm=Harm.WASTES,
    sign=f"A client puts {_ENOUGH} records or more, {_PER_SECOND} a second or more, in as many calls.",
    sentence="PutRecords puts up to 500 records in one call, and more a second than PutRecord.",
    source="Amazon Kinesis Data Streams Developer Guide, Add data to a stream",
    advice="Collect records for some milliseconds, and put them with PutRecords.",
    judge=judge,
)
