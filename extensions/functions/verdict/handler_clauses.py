"""The clauses that only handlers have. Those of every consumer judge them too."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Final

from extensions.functions.verdict.deployment import QUEUE, STREAM
from extensions.functions.verdict.handler_lab import LITTLE_TIME, STANDSTILL
from extensions.functions.verdict.source_messages import are_named_by_content
from rdss_sandbox.shapes.trace import Disposition
from sandbox.certify.clause import NEVER_LANDED, NEVER_USED, Clause, Group, Judgement, Role, judged, report
from sandbox.certify.consumer_clauses.repeats import definite_repeats
from sandbox.certify.history import History, Level
from sandbox.certify.queue_consumer_clauses.settlement_clauses import (
    acks_after_the_effect,
    dead_letters_poison,
)

_BOTH: Final = frozenset({STREAM, QUEUE})
_clause = partial(Clause, role=Role.CONSUMER, group=Group.DELIVERY, level=Level.SILVER, channels=_BOTH)

answers_after_the_effect = replace(
    acks_after_the_effect,
    id="answers-after-the-effect",
    advice="Wait for all that you started before you answer.",
    channels=_BOTH,
    demand="A handler answers when all is processed: what goes on behind an answer is frozen.",
    source="AWS Lambda Developer Guide, Lambda execution environment lifecycle",
    exercise="The time of each answer and of what the handler tells is compared, message by message.",
)
reports_poison = replace(
    dead_letters_poison,
    id="reports-poison",
    advice="Raise, or name it in batchItemFailures; do not answer as if it were processed.",
    channels=_BOTH,
    demand="What is no message is answered as failed until it is given up, or put elsewhere.",
    source="AWS Lambda Developer Guide, Kinesis: error handling, and SQS: partial batches",
    exercise="What is no message is sent between messages of one batch; the mapping gives it up at last.",
)


@partial(
    _clause,
    id="gives-up-poison-alone",
    demand="What is given up is poison alone: no message of its batch shares its fate.",
    source="AWS Lambda Developer Guide, Kinesis: bisecting a batch, and SQS: partial batches",
    exercise="What is no message is sent between messages of one batch; the mapping gives it up at last.",
    advice="Answer with batchItemFailures, or bisect the batch, so that one message fails by itself.",
    needed=2,
    asked_of=dead_letters_poison.asked_of,
)
def gives_up_poison_alone(history: History) -> Judgement:
    """A message that is given up is a breach, whether or not it was processed; it is dealt with as failed."""
    times, ids = history.times_told(), {sent.message_id for sent in history.sent}
    poison = set(history.poison)
    mixed = {
        each.sequence_number
        for read in history.reads()
        if any(each.message_id in ids for each in read.records)
        for each in read.records
        if each.sequence_number in poison
    }
    findings = [
        report(
            history,
            done.at,
            f"{each.message_id} was given up with its batch, "
            f"{'although it was processed' if each.message_id in times else 'and never processed'}",
            messageId=each.message_id,
        )
        for done in history.settlements()
        if done.disposition is Disposition.DISCARD
        for each in done.records
        if each.message_id in ids
    ]
    alone = all(len(read.records) < 2 for read in history.reads())
    return judged(len(mixed), findings, NEVER_USED if alone else NEVER_LANDED)


@partial(
    _clause,
    id="survives-time-outs",
    demand="A batch that the time-out cuts off, or nearly does, is processed whole, and nothing of it twice.",
    source="AWS Lambda Developer Guide, Configure Lambda function timeout",
    exercise="The process stands still until its time-out ends it, and until 0.6 seconds are left.",
    advice="Look at get_remaining_time_in_millis, answer before it is over, and know again what is "
    "processed.",
    needed=2,
)
def survives_time_outs(history: History) -> Judgement:
    """Messages of a batch that was struck are told, in time; what was told before is not reported again."""
    batches: dict[tuple[float, str], list[str]] = {}
    for each in history.injected:
        if each.type in {STANDSTILL, LITTLE_TIME} and each.message_id is not None:
            batches.setdefault((each.at, each.type), []).append(each.message_id)
    in_time = history.told_in_time()
    again = {each.told.message_id: each for each in definite_repeats(history)}
    findings = []
    for (at, what), ids in batches.items():
        how = "stood still until its time-out" if what == STANDSTILL else "had little time left"
        for verb, wrong in (
            ("lost", [each for each in ids if each not in in_time]),
            ("reported again", [each for each in ids if each in again and again[each].told.at > at]),
        ):
            if wrong:
                sentence = (
                    f"{len(wrong)} of {len(ids)} messages were {verb} when the process {how} at {at:.2f} s"
                )
                findings.append(report(history, at, sentence, messageIds=wrong[:5]))
    return judged(len(batches), findings)


@partial(
    _clause,
    id="keeps-the-order",
    channels=frozenset({STREAM}),
    demand="Messages with one partition key are processed in the order in which they came.",
    source="AWS Lambda Developer Guide, Kinesis: how Lambda processes records",
    exercise="Messages are put under one key and come in one batch; of one batch the answer is lost.",
    advice="Process a batch in its order, and answer with the first that failed; leave the rest to the "
    "next try.",
    needed=10,
    asked_of=are_named_by_content,
)
def keeps_the_order(history: History) -> Judgement:
    """Of two messages the later one may not be told first."""
    first: dict[str, int] = {}
    for place, each in enumerate(history.told):
        first.setdefault(each.message_id, place)
    findings, exposure = [], 0
    for ids in history.ordered:
        order = [each for each in ids if each in first]
        exposure += len(order)
        for earlier, later in pairwise(order):
            if first[later] < first[earlier]:
                sentence = f"{later} was reported before {earlier}, which came before it under the same key"
                at = history.told[first[later]].at
                findings.append(report(history, at, sentence, messageIds=[later, earlier]))
    return judged(exposure, findings)
