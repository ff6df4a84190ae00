"""What handlers do wrong with the batches that they are handed.

It is loaded with the diagnosis, so it loads nothing of functions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final

from emulator.diagnosis.rule import Harm, Judgement, Rule, Sighting, count
from rdss_sandbox.shapes.recorded_batches import HandedRecord, HandledBatch
from rdss_sandbox.shapes.recorded_exchange import Exchange

LEAST_CARRIED: Final = 3
_SHOWN: Final = 5
_TIMED_OUT: Final = "Sandbox.Timedout"


def judge_swallowed(exchange: Exchange) -> Judgement:
    """Only a handler that writes something of each good record can be seen to leave one out."""
    looked, sightings = 0, []
    for batches in _by(exchange.batches, lambda batch: (batch.handler, batch.source)).values():
        written = _list_ids(batches)
        settled = [
            (batch, record)
            for batch in batches
            if not batch.error
            for record in batch.records
            if record.number not in batch.failed
        ]
        good = [record for batch, record in settled if not record.bad and not batch.complaint]
        if len({each.number for each in good}) < LEAST_CARRIED or any(
            _id(each) not in written for each in good
        ):
            continue
        looked += len(settled)
        lost = [
            (batch, record)
            for batch, record in settled
            if (record.bad or batch.complaint) and not _is_carried(batch, record, written)
        ]
        if lost:
            sightings.append(_describe_lost(lost))
    return Judgement(looked, tuple(sightings))


def _is_carried(batch: HandledBatch, record: HandedRecord, written: frozenset[str]) -> bool:
    """Whether something was written of a record. What names no record may be of one without an id."""
    if record.message_id is not None:
        return _id(record) in written
    ids = {_id(each) for each in batch.records}
    return any(not each.ids & ids for each in batch.effects)


def _describe_lost(lost: Sequence[tuple[HandledBatch, HandedRecord]]) -> Sighting:
    batch, record = lost[0]
    why = record.bad or batch.complaint.strip()
    numbers = list(dict.fromkeys(each.number for _, each in lost))
    sentence = (
        f"{batch.handler} answered batches of {batch.source} as done, and wrote nothing of "
        f"{count(len(numbers), 'record')} in them that failed; the first: {why}"
    )
    evidence = {
        "records": len(numbers),
        "numbers": numbers[:_SHOWN],
        "messageIds": [each.message_id for _, each in lost[:_SHOWN]],
        "log": batch.complaint,
    }
    return Sighting(batch.handler, batch.source, batch.ended, sentence, evidence)


SWALLOWED: Final = Rule(
    id="swallowed-failure",
    title="A record that failed in a batch that was answered as done",
    harm=Harm.LOSES,
    sign=(
        f"A handler writes something of each good record, of {LEAST_CARRIED} or more. It answers without an "
        "error, and without naming the record, a batch with an invalid one, or one in which its log has a "
        "traceback or a line of the level ERROR, and nothing that it wrote has the record's messageId."
    ),
    sentence="An answer without an error is success of the whole batch; Lambda goes on behind it.",
    source="AWS Lambda Developer Guide, Kinesis: success and failure conditions",
    advice="Raise, or name the record in batchItemFailures, or put it on a queue for what is rejected.",
    judge=judge_swallowed,
)


def judge_retried(exchange: Exchange) -> Judgement:
    looked, sightings = 0, []
    for first, second in (pair for batches in _group_by_records(exchange) for pair in pairwise(batches)):
        looked += 1
        doubled = _find_doubled(first, second)
        if doubled:
            sentence = (
                f"{first.handler} was handed {count(len(first.records), 'record')} of {first.source} again, "
                f"and wrote {count(len(doubled), 'thing')} again as if it was new; the first: {doubled[0]}"
            )
            evidence = {"records": len(first.records), "first": first.began, "written": doubled[:_SHOWN]}
            sightings.append(Sighting(first.handler, first.source, second.began, sentence, evidence))
    return Judgement(looked, _first_of_each(sightings))


def _find_doubled(first: HandledBatch, second: HandledBatch) -> list[str]:
    """What the second delivery wrote that the first had written already, under another identity."""
    ids = {_id(each) for each in first.records}
    before = [each for each in first.effects if each.identity]
    after = [each for each in second.effects if each.identity]
    if not any(each.ids & ids for each in (*before, *after)):
        return _find_unnamed(first, second)
    doubled = []
    for record in _list_passed(first):
        for place in {each.place for each in before if _id(record) in each.ids}:
            was = {each.identity for each in before if each.place == place and _id(record) in each.ids}
            now = {each.identity for each in after if each.place == place and _id(record) in each.ids}
            doubled += [f"{place} {each}" for each in sorted(now - was)]
    return list(dict.fromkeys(doubled))


def _find_unnamed(first: HandledBatch, second: HandledBatch) -> list[str]:
    """The same where nothing that was written names its record: one thing or more for each record, twice."""
    was = {(each.place, each.identity) for each in first.effects if each.identity}
    now = {(each.place, each.identity) for each in second.effects if each.identity}
    enough = max(2, len(first.records))
    whole = not first.error and not first.failed and len(was) >= enough and len(now) >= enough
    return [f"{place} {identity}" for place, identity in sorted(now)] if whole and not was & now else []


def _list_passed(batch: HandledBatch) -> Iterator[HandedRecord]:
    """The records that the handler was done with: it ended well, or wrote something of a later one."""
    reached = max(
        (place for place, each in enumerate(batch.records) if any(_id(each) in e.ids for e in batch.effects)),
        default=0,
    )
    for place, record in enumerate(batch.records):
        if record.message_id is not None and (place < reached or (not batch.error and not batch.failed)):
            yield record


REPEATED: Final = Rule(
    id="retried-batch-written-twice",
    title="A batch that came again and was written again",
    harm=Harm.REPEATS,
    sign=(
        "A handler gets the same records again. Of a record that it was done with it writes an object under "
        "another key, or a message under another messageId, than before. What it writes names the record, or "
        "is as much as the records are."
    ),
    sentence="Lambda hands over each record at least once, so duplicates come; a function is idempotent.",
    source="AWS Lambda Developer Guide, Kinesis: processing records",
    advice="Make keys and messageIds of the record's own id, or keep which records are done with.",
    judge=judge_retried,
)


def judge_timed_out(exchange: Exchange) -> Judgement:
    sightings = []
    for batches in _group_by_records(exchange):
        late = [each for each in batches if each.error == _TIMED_OUT]
        if len(late) > 1:
            first = late[0]
            sentence = (
                f"{first.handler} timed out {len(late)} times on the same "
                f"{count(len(first.records), 'record')} of {first.source}"
            )
            evidence = {"records": len(first.records), "times": len(late)}
            sightings.append(Sighting(first.handler, first.source, late[-1].ended, sentence, evidence))
    return Judgement(len(exchange.batches), _first_of_each(sightings))


TIMED_OUT: Final = Rule(
    id="batch-outlasts-timeout",
    title="A batch that takes longer than the function's time-out",
    harm=Harm.STALLS,
    sign="A handler runs into its time-out twice with the same records. A fault's time-out is none of its.",
    sentence="A batch that times out has failed as a whole, and its shard waits while it is tried again.",
    source="AWS Lambda Developer Guide, Kinesis: error handling",
    advice="Raise Timeout, or lower BatchSize and MaximumBatchingWindowInSeconds, or bisect failed batches.",
    judge=judge_timed_out,
)


def judge_visibility(exchange: Exchange) -> Judgement:
    sightings = [
        Sighting(
            each.handler,
            each.source,
            exchange.taken,
            f"messages of {each.source} come again after {each.hidden:g} s, while {each.handler} may still "
            f"have them: it gathers for up to {each.gathers:g} s, and handles for up to {each.timeout:g} s",
            {"visibility": each.hidden, "window": each.gathers, "timeout": each.timeout},
        )
        for each in exchange.batch_sources
        if each.hidden < each.gathers + each.timeout
    ]
    return Judgement(len(exchange.batch_sources), tuple(sightings))


WINDOW: Final = Rule(
    id="window-outlasts-visibility",
    title="Messages that come again while they are gathered or handled",
    harm=Harm.REPEATS,
    sign="A queue's visibility time-out is shorter than its mapping's batching window and Timeout together.",
    sentence="The visibility time-out is at least the function's, six times that, and the batching window.",
    source="AWS Lambda Developer Guide, Amazon SQS: configuring a queue, batching window",
    advice="Set VisibilityTimeout to six times Timeout and MaximumBatchingWindowInSeconds on top.",
    judge=judge_visibility,
)


def _group_by_records(exchange: Exchange) -> Iterable[list[HandledBatch]]:
    """The batches that had the same records, of each handler and source."""
    return _by(
        exchange.batches, lambda each: (each.handler, each.source, tuple(one.number for one in each.records))
    ).values()


def _by(
    batches: Iterable[HandledBatch], key: Callable[[HandledBatch], object]
) -> dict[object, list[HandledBatch]]:
    found: defaultdict[object, list[HandledBatch]] = defaultdict(list)
    for each in batches:
        found[key(each)].append(each)
    return found


def _first_of_each(sightings: Iterable[Sighting]) -> tuple[Sighting, ...]:
    """One mistake of a handler with a source is told once."""
    found: dict[tuple[str | None, str], Sighting] = {}
    for each in sightings:
        found.setdefault((each.client, each.stream), each)
    return tuple(found.values())


def _id(record: HandedRecord) -> str:
    return (record.message_id or "").lower()


def _list_ids(batches: Iterable[HandledBatch]) -> frozenset[str]:
    return frozenset(found for batch in batches for each in batch.effects for found in each.ids)
