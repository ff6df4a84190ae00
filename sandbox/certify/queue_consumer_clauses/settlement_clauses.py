"""The clauses on what a consumer of a queue takes, and how it settles that."""

from __future__ import annotations

from collections import Counter
from functools import partial

from rdss_sandbox.shapes.certificate import Finding
from rdss_sandbox.shapes.trace import Disposition, Read, Settlement
from sandbox.certify.clause import (
    NEVER_LANDED,
    NEVER_USED,
    RABBITMQ,
    Clause,
    Group,
    Judgement,
    Role,
    judged,
    report,
)
from sandbox.certify.consumer_clauses.reading_clauses import judge_failed_reads
from sandbox.certify.history import History, Level
from sandbox.certify.kit_messages import POISON

_MOST_REQUEUES = 3

_ACK_SECONDS = 5.0
_clause = partial(Clause, role=Role.CONSUMER, group=Group.DELIVERY, channels=RABBITMQ)


@partial(
    _clause,
    id="acks-after-the-effect",
    level=Level.BRONZE,
    demand="A message is acknowledged after it is processed, never before and never automatically.",
    source="RabbitMQ documentation, Consumer Acknowledgements and Publisher Confirms",
    exercise="The order of the consumer's acks and of what it tells is compared, message by message.",
    advice="Consume with auto_ack off, and ack when the effect is written.",
    needed=10,
)
def acks_after_the_effect(history: History) -> Judgement:
    """An ack is a breach when the message was told after it or never, or when no ack was asked for at all."""
    first: dict[str, float] = {}
    for statement in history.told:
        first.setdefault(statement.message_id, statement.at)
    ids = {sent.message_id for sent in history.sent}
    acked: dict[str, float] = {}
    for settlement in history.settlements():
        if settlement.disposition is Disposition.ACK:
            for each in settlement.records:
                if each.message_id in ids:
                    acked.setdefault(str(each.message_id), settlement.at)
    findings = [
        report(
            history,
            each.at,
            f"{each.queue} was consumed with automatic acknowledgement: what is in hand at a crash is lost",
        )
        for each in history.subscriptions()
        if each.no_ack
    ]
    for message_id, at in acked.items():
        told_at = first.get(message_id)
        if told_at is None or told_at > at:
            then = "never reported" if told_at is None else f"reported at {told_at:.3f} s"
            sentence = f"{message_id} was acknowledged at {at:.3f} s and {then}: a crash between loses it"
            findings.append(report(history, at, sentence, messageId=message_id))
    return judged(len(acked), findings)


@partial(
    _clause,
    id="acks-all-that-it-processed",
    level=Level.BRONZE,
    demand="Every delivery of a message that was processed is acknowledged, also one that came twice.",
    source="AMQP 0-9-1 specification, section 1.8.3.13 basic.ack",
    exercise="What lies in the queue when the consumer has ended is compared with what it told.",
    advice="Ack a message that came twice as well, although you pass over it.",
    needed=10,
)
def acks_all_that_it_processed(history: History) -> Judgement:
    """A message that was told, and kept by its start to the end of a stage and for ever, is a breach.

    So is one that lies in the queue when the client has ended.
    """
    times = history.times_told()
    settled = {
        (each.life, record.sequence_number) for each in history.settlements() for record in each.records
    }
    kept = {
        record.sequence_number: None
        for read in history.reads()
        if read.owed and history.end_of(read.at).life == read.life and _lasted(history, read)
        for record in read.records
        if (read.life, record.sequence_number) not in settled
    }
    names = {number: message_id or "" for shard in history.shards for number, message_id in shard.records}
    levels = {sent.message_id: sent.level for sent in history.sent}
    findings = [
        Finding(
            f"{names[number]} was reported and not acknowledged: it goes back to the queue, and comes again",
            levels.get(names[number], Level.GOLD),
            {"messageId": names[number]},
        )
        for number in dict.fromkeys([*kept, *history.left])
        if names.get(number) in times
    ]
    return judged(len(times), findings)


def _lasted(history: History, read: Read) -> bool:
    """Whether the client lived long enough after a delivery to acknowledge it, also in batches."""
    life = next((each for each in history.lives if each.number == read.life), None)
    return life is None or life.ended is None or life.ended - read.at > _ACK_SECONDS


@partial(
    _clause,
    id="limits-its-prefetch",
    level=Level.BRONZE,
    demand="basic.qos sets a prefetch limit before the queue is consumed.",
    source="RabbitMQ documentation, Consumer Prefetch",
    exercise="The limit in force is looked up at each basic.consume.",
    advice="Call basic.qos with a prefetch count before basic.consume.",
    needed=1,
)
def limits_its_prefetch(history: History) -> Judgement:
    """A consumer without acknowledgements has no limit to set; ``acks-after-the-effect`` judges it."""
    subscriptions = [each for each in history.subscriptions() if not each.no_ack]
    findings = [
        report(
            history,
            each.at,
            f"{each.queue} was consumed without a prefetch limit at {each.at:.2f} s: "
            "the whole queue goes to one consumer",
        )
        for each in subscriptions
        if not each.prefetch
    ]
    unlimited = any(not read.owed or not read.pushed for read in history.reads())
    return judged(len(subscriptions), findings, NEVER_USED if unlimited else NEVER_LANDED)


@partial(
    _clause,
    id="survives-errors",
    level=Level.SILVER,
    demand="After a cut connection, or a channel that the broker closed, it connects and consumes again.",
    source="RabbitMQ documentation, Connections: recovery from connection failures",
    exercise="Some connections are cut at a delivery, and some channels are closed with 541.",
    advice="Connect again when connection or channel ends, declare what you need, and consume again.",
    needed=2,
)
def survives_errors(history: History) -> Judgement:
    return judge_failed_reads(history, lambda read: bool(read.error))


@partial(
    _clause,
    id="dead-letters-poison",
    level=Level.SILVER,
    demand="What is no message is rejected without requeue, or put on another queue and acknowledged.",
    source="RabbitMQ documentation, Dead Letter Exchanges, and Negative Acknowledgements",
    exercise="Bodies that are no JSON are sent between messages; the queue has a dead letter exchange.",
    advice="Reject what cannot be read with requeue off.",
    needed=2,
    asked_of=lambda contract: not contract.judge(POISON).valid,
)
def dead_letters_poison(history: History) -> Judgement:
    """Poison ends as a dead letter, or is acknowledged after something was put on another queue.

    It does so in its stage: what a later start settles has come again.
    """
    given = {each.sequence_number for read in history.reads() if read.owed for each in read.records}
    in_time = set()
    poison = [number for number in history.poison if number in given]
    put_at = {number: at for (_, number), at in history.put_at.items()}
    requeued: Counter[str] = Counter()
    acked: dict[str, Settlement] = {}
    for settlement in history.settlements():
        for each in settlement.records:
            if settlement.disposition is Disposition.REQUEUE:
                requeued[each.sequence_number] += 1
                continue
            if settlement.life <= history.end_of(put_at.get(each.sequence_number, 0.0)).life:
                in_time.add(each.sequence_number)
            if settlement.disposition is Disposition.ACK:
                acked[each.sequence_number] = settlement
    findings = []
    for number in poison:
        if requeued[number] > _MOST_REQUEUES:
            sentence = f"was put back {requeued[number]} times, and came again each time"
        elif number in acked and not _put_elsewhere(history, acked[number]):
            sentence = "was acknowledged and put nowhere: nobody learns of it"
        elif number not in in_time:
            sentence = "was neither rejected nor acknowledged, and comes again"
        else:
            continue
        findings.append(Finding(f"poison {number} {sentence}", Level.SILVER, {"number": number}))
    return judged(len(poison), findings)


def _put_elsewhere(history: History, settlement: Settlement) -> bool:
    """Whether the same start put something on another queue between a delivery and its ack."""
    number = settlement.records[-1].sequence_number
    came = next(
        read.at for read in history.reads() if number in {each.sequence_number for each in read.records}
    )
    return any(
        put.life == settlement.life and came <= put.at <= settlement.at and not put.error
        for put in history.puts_elsewhere()
    )
