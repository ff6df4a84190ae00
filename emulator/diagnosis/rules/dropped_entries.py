"""Entries of PutRecords that failed and were never put again."""

from __future__ import annotations

from collections import defaultdict

from emulator.diagnosis.rule import Harm, Judgement, Rule, Seen
from rdss_sandbox.shapes.recorded_exchange import Exchange, RefusedAttempt

PATIENCE_SECONDS = 60.0
"""How long a client may take to put a failed entry again."""
_SHOWN = 5


def judge(exchange: Exchange) -> Judgement:
    failed = [each for each in exchange.refusals if each.batch]
    dropped: dict[tuple[str, str], list[RefusedAttempt]] = defaultdict(list)
    for each in failed:
        if not each.settled and not each.pauses and exchange.taken - each.at >= PATIENCE_SECONDS:
            dropped[each.client, each.stream].append(each)
    return Judgement(
        len(failed), tuple(_describe(client, stream, lost) for (client, stream), lost in dropped.items())
    )


def _describe(client: str, stream: str, lost: list[RefusedAttempt]) -> Seen:
    names = [each.message_id for each in lost if each.message_id][:_SHOWN]
    faults = tuple(sorted({each.fault for each in lost if each.fault}))
    cause = f", by the fault {' and '.join(faults)}" if faults else ""
    said = (
        f"{'1 entry' if len(lost) == 1 else f'{len(lost):,} entries'} of {client}'s PutRecords "
        f"failed{cause}, and {'was' if len(lost) == 1 else 'were'} never put again"
    )
    evidence = {
        "entries": len(lost),
        "codes": sorted({each.code for each in lost}),
        "messageIds": names,
        "last": max(each.at for each in lost),
    }
    return Seen(client, stream, min(each.at for each in lost), said, evidence, faults=faults)


RULE = Rule(
    id="dropped-entries",
    title="Failed entries of PutRecords that were never put again",
    harm=Harm.LOSES,
    sign="PutRecords answers with an ErrorCode for an entry, and for 60 seconds nobody puts that record.",
    sentence="A response with a FailedRecordCount above 0 has records to put again: those with an ErrorCode.",
    source="Amazon Kinesis Data Streams API Reference, PutRecords",
    advice="Look at FailedRecordCount, and put the entries with an ErrorCode again, found by their index.",
    judge=judge,
    patient=True,
)
