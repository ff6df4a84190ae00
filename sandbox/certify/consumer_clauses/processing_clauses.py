"""The clauses on what is processed: every message, once, and on from where the client was killed."""

from __future__ import annotations

from collections import Counter
from functools import partial

from emulator.diagnosis.rules import skipped_records
from sandbox.certify.clause import ALL_CHANNELS, Clause, Group, Judgement, Role, has_ids, judged, report
from sandbox.certify.consumer_clauses.repeats import Repeat, definite_repeats
from sandbox.certify.history import History, Level, Life

_clause = partial(Clause, role=Role.CONSUMER, group=Group.DELIVERY, channels=ALL_CHANNELS)


@partial(
    _clause,
    id="nothing-lost",
    level=Level.BRONZE,
    demand="Every message is processed, whatever happens to the stream, the calls and the consumer.",
    source="RDSS Message API 4.0.0, Message Gateway: at-least-once delivery",
    exercise="Valid messages are sent in every stage, also while the consumer is down.",
    advice="Checkpoint, or ack, after a message is processed, and go on from there at the next start, "
    "never at LATEST.",
    needed=10,
    rules=(skipped_records.STARTS, skipped_records.RESTARTS),
)
def nothing_lost(history: History) -> Judgement:
    in_time, times = history.told_in_time(), history.times_told()
    places = {
        message_id: (shard.id, number) for shard in history.shards for number, message_id in shard.records
    }
    delivered = {each.message_id for read in history.reads() for each in read.records}
    findings = []
    for sent in history.sent:
        if sent.message_id in in_time:
            continue
        shard, number = places.get(sent.message_id, ("", ""))
        how = "was read and never reported" if sent.message_id in delivered else "was never read"
        if sent.message_id in times:
            how = "was reported only after the client was started again"
        sentence = f"{sent.message_id} {how}; it lies in {shard}"
        facts = {"messageId": sent.message_id, "shard": shard, "sequenceNumber": number}
        findings.append(report(history, sent.at, sentence, **facts))
    return judged(len(history.sent), findings)


@partial(
    _clause,
    id="nothing-twice",
    level=Level.BRONZE,
    demand="A message that comes twice is processed once.",
    source="RDSS Message API 4.0.0, Message Gateway: duplicates are detected by messageId",
    exercise="Producers send again, and the broker delivers again; the consumer is restarted.",
    advice="Write the message's id with the effect, in one transaction, and pass over a message whose id "
    "is there.",
    needed=3,
    asked_of=has_ids,
)
def nothing_twice(history: History) -> Judgement:
    came = Counter(each.message_id for read in history.reads() for each in read.records)
    findings = [
        report(
            history,
            repeat.told.at,
            f"{repeat.told.message_id} was reported {repeat.times} times, at {repeat.first.at:.2f} s and "
            f"{repeat.told.at:.2f} s: {_explain(repeat, came[repeat.told.message_id])}",
            messageId=repeat.told.message_id,
            times=repeat.times,
        )
        for repeat in definite_repeats(history)
    ]
    return judged(sum(times - 1 for name, times in came.items() if name is not None), findings)


def _explain(repeat: Repeat, deliveries: int) -> str:
    """Why the message was there again: the kit sent it twice, or a restart lay between."""
    if repeat.told.life != repeat.last.life:
        return "the client was started again between"
    if deliveries > 1:
        return f"it was delivered {deliveries} times, as at-least-once delivery allows"
    return "it was delivered once"


@partial(
    _clause,
    id="resumes-after-a-kill",
    level=Level.GOLD,
    demand="After SIGKILL it goes on from its checkpoint: nothing is lost, and one message repeated at most.",
    source="Amazon Kinesis Data Streams Developer Guide, Handle duplicate records",
    exercise="The consumer is killed with records in hand, after telling, and while idle.",
    advice="Keep the checkpoint where a SIGKILL leaves it, and move it after each message at most one "
    "behind.",
    needed=3,
)
def resumes_after_a_kill(history: History) -> Judgement:
    """After a SIGKILL nothing is lost that was there, and no more than the message in hand is told again.

    What the kit sent twice is told again for want of a memory, not of a checkpoint: ``nothing-twice`` has it.
    """
    findings, exposure = [], 0
    records = Counter(message_id for shard in history.shards for _, message_id in shard.records)
    repeats = definite_repeats(history)
    for life in history.kills():
        end = life.ended or 0.0
        following = [each for each in history.lives if each.number > life.number]
        if not following:
            continue
        exposure += 1
        again = {
            statement.message_id
            for statement, _, last, _ in repeats
            if last.life == life.number != statement.life and records[statement.message_id] <= 1
        }
        lost = _skipped(history, life, following[0].began)
        if again:
            sentence = f"{len(again)} messages were reported again after the kill at {end:.2f} s, besides one"
            findings.append(report(history, end, sentence, messageIds=sorted(again)[:5]))
        if lost:
            sentence = f"{len(lost)} messages were skipped over the kill at {end:.2f} s"
            findings.append(report(history, end, sentence, messageIds=lost[:5]))
    return judged(exposure, findings)


def _skipped(history: History, life: Life, began: float) -> list[str]:
    """The messages of the kill's stage not told in time, in shards that the next life went on to read.

    What was sent after the next life ``began`` was not skipped over the kill.
    """
    read_later = {read.shard for read in history.reads() if read.life > life.number and not read.error}
    there = {name for shard in history.shards if shard.id in read_later for _, name in shard.records}
    times_in_life, since = (
        history.told_in_time(),
        max((end.at for end in history.ends if end.at < began), default=0.0),
    )
    return [
        sent.message_id
        for sent in history.sent
        if since < sent.at <= began and sent.message_id in there and sent.message_id not in times_in_life
    ]
