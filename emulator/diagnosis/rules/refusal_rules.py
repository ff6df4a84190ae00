"""What was refused: entries that never came again, and retries without a pause."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from math import inf
from statistics import median

from emulator.diagnosis.rule import Harm, Judgement, Rule, Sighting
from rdss_sandbox.shapes.recorded_exchange import Exchange, RefusedAttempt

PATIENCE_SECONDS = 60.0
"""How long a client may take to put a failed entry again."""
_SHOWN = 5


def find_dropped(refusals: Iterable[RefusedAttempt], now: float = inf) -> list[RefusedAttempt]:
    """The failed entries of PutRecords that nobody has put again by ``now``, or not till they were taken."""
    return [
        each
        for each in refusals
        # From its last try on: each pause lies between two of them.
        if each.batch and not each.settled and now - each.at - sum(each.pauses) >= PATIENCE_SECONDS
    ]


def judge_dropped(exchange: Exchange) -> Judgement:
    dropped: dict[tuple[str, str], list[RefusedAttempt]] = defaultdict(list)
    for each in find_dropped(exchange.refusals, exchange.taken):
        dropped[each.client, each.stream].append(each)
    return Judgement(
        sum(each.batch for each in exchange.refusals),
        tuple(_describe(client, stream, lost) for (client, stream), lost in dropped.items()),
    )


def _describe(client: str, stream: str, lost: list[RefusedAttempt]) -> Sighting:
    names = [each.message_id for each in lost if each.message_id][:_SHOWN]
    faults = tuple(sorted({each.fault for each in lost if each.fault}))
    cause = f", by the fault {' and '.join(faults)}" if faults else ""
    sentence = (
        f"{'1 entry' if len(lost) == 1 else f'{len(lost):,} entries'} of {client}'s PutRecords "
        f"failed{cause}, and {'was' if len(lost) == 1 else 'were'} never put again"
    )
    evidence = {
        "entries": len(lost),
        "codes": sorted({each.code for each in lost}),
        "messageIds": names,
        "last": max(each.at for each in lost),
    }
    return Sighting(client, stream, min(each.at for each in lost), sentence, evidence, faults=faults)


DROPPED = Rule(
    id="dropped-entries",
    title="Failed entries of PutRecords that were never put again",
    harm=Harm.LOSES,
    sign="PutRecords answers with an ErrorCode for an entry, and for 60 seconds nobody puts that record.",
    sentence="A response with a FailedRecordCount above 0 has records to put again: those with an ErrorCode.",
    source="Amazon Kinesis Data Streams API Reference, PutRecords",
    advice="Look at FailedRecordCount, and put the entries with an ErrorCode again, found by their index.",
    judge=judge_dropped,
    patient=True,
)


_THROTTLES = frozenset(
    {"ProvisionedThroughputExceededException", "LimitExceededException", "KMSThrottlingException"}
)
SHORT_SECONDS = 0.1
_IN_A_ROW = 4
_ENOUGH = 10
_GROWTH = 1.5
_LONG_ROW = 6
STEADY_SECONDS = 1.0
"""Pauses that are as long need not grow."""


def grow(rows: Iterable[Sequence[float]]) -> bool:
    """Whether the pauses of any row, in seconds, grow: a later one is half as long again as the first."""
    return any(len(row) > 1 and max(row[1:]) >= _GROWTH * row[0] for row in rows)


def find_haste(pauses: Sequence[float], short: float) -> str | None:
    """What is wrong with pauses, in words, where half of them take fewer than ``short`` seconds."""
    if not pauses or median(pauses) >= short:
        return None
    return f"tried again at once: half of {len(pauses)} pauses are below {median(pauses) * 1000:.0f} ms"


def judge_pauses(exchange: Exchange) -> Judgement:
    """Random pauses (full jitter) may be short once or twice, so that only many short ones tell."""
    throttled: dict[tuple[str, str], list[RefusedAttempt]] = defaultdict(list)
    for each in exchange.refusals:
        if each.code in _THROTTLES and each.pauses:
            throttled[each.client, each.stream].append(each)
    sightings = []
    for (client, stream), refusals in throttled.items():
        if (wrong := _find_wrong(refusals)) is not None:
            faults = tuple(sorted({each.fault for each in refusals if each.fault}))
            pauses = [[round(pause, 3) for pause in each.pauses] for each in refusals[:5]]
            cause = f" by the fault {' and '.join(faults)}" if faults else ""
            sentence = f"{client} was throttled{cause} and {wrong}"
            at = min(each.at for each in refusals)
            sightings.append(Sighting(client, stream, at, sentence, {"pauses": pauses}, faults=faults))
    return Judgement(sum(len(each) for each in throttled.values()), tuple(sightings))


def _find_wrong(refusals: list[RefusedAttempt]) -> str | None:
    pauses = [pause for each in refusals for pause in each.pauses]
    rows = [each.pauses for each in refusals if len(each.pauses) >= _IN_A_ROW]
    at_once = any(all(pause < SHORT_SECONDS for pause in row) for row in rows)
    # A row of short pauses alone says enough, whatever the others were.
    if (at_once or len(pauses) >= _ENOUGH) and (
        hasty := find_haste(pauses, inf if at_once else SHORT_SECONDS)
    ):
        return hasty
    puts = [each.pauses for each in refusals if each.operation != "GetRecords" and each.pauses in rows]
    long = [row for row in puts if len(row) >= _LONG_ROW and max(row) < STEADY_SECONDS]
    if long and not grow(puts):
        return f"paused no longer from try to try: {max(map(len, long))} pauses of {median(pauses):.2f} s"
    return None


NO_BACK_OFF = Rule(
    id="no-back-off",
    title="A retry that hits a throttle without pausing longer",
    harm=Harm.WASTES,
    sign=(
        "The same record or iterator comes back after a throttle four times in a row within 100 ms each, or "
        "half of at least ten times; or one record six times with pauses that do not grow."
    ),
    sentence="After ProvisionedThroughputExceededException, retry with exponential back-off.",
    source="Amazon Kinesis Data Streams API Reference, PutRecord and GetRecords",
    advice="Pause longer from try to try, with jitter, or leave the retries to the SDK.",
    judge=judge_pauses,
)
