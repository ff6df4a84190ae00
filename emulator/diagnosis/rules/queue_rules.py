"""What clients do wrong with queues."""

from __future__ import annotations

from emulator.diagnosis.rule import Harm, Judgement, Rule, Sighting, count
from rdss_sandbox.shapes.recorded_exchange import Exchange

LONGEST_ROW = 20
# After as long RabbitMQ closes the consumer's channel.
LONGEST_SECONDS = 1_800.0
# RabbitMQ advises a prefetch of 100 to 300.
MOST_IN_HAND = 200


def judge_broken(exchange: Exchange) -> Judgement:
    sightings = []
    for reading in exchange.queue_readings:
        if not reading.broken:
            continue
        first = reading.broken[0]
        faults = tuple(sorted({each.fault for each in reading.broken if each.fault}))
        cause = f", cut by the fault {' and '.join(faults)}," if faults else ""
        sentence = (
            f"{reading.client} consumed {reading.queue} with automatic acknowledgement; the connection broke"
            f"{cause} within a second of {count(first.recent, 'message')} sent to it: "
            "what it had not processed is lost"
        )
        evidence = {"recent": [each.recent for each in reading.broken], "delivered": reading.delivered}
        sightings.append(Sighting(reading.client, reading.queue, first.at, sentence, evidence, faults=faults))
    return Judgement(sum(each.breaks for each in exchange.queue_readings), tuple(sightings))


AUTO_ACK_IN_A_CRASH = Rule(
    id="auto-ack-in-a-crash",
    title="Messages in hand with automatic acknowledgement when the connection broke",
    harm=Harm.LOSES,
    sign="A consumer has no_ack set; its connection ends without a close, within a second of a delivery.",
    sentence="With automatic acknowledgement a message counts as delivered as soon as it is sent.",
    source="RabbitMQ documentation, Consumer Acknowledgements and Publisher Confirms",
    advice="Consume with auto_ack=False, and acknowledge each message after its work is done.",
    judge=judge_broken,
)


def judge_unroutable(exchange: Exchange) -> Judgement:
    sightings = [
        Sighting(
            each.client,
            each.queue,
            each.nowhere,
            f"{each.client} published to {each.queue}, a queue that was not there: the broker took "
            "the message, and dropped it",
            {"messages": each.messages},
        )
        for each in exchange.queue_writings
        if each.nowhere is not None
    ]
    return Judgement(len(exchange.queue_writings), tuple(sightings))


PUBLISHED_TO_NOWHERE = Rule(
    id="published-to-nowhere",
    title="A message published to a queue that is not there",
    harm=Harm.LOSES,
    sign="A message comes on the default exchange without mandatory, and no queue has its key's name.",
    sentence="A message that no queue takes is dropped, and confirmed; if it is mandatory, it is returned.",
    source="RabbitMQ documentation, Publishers: unroutable message handling",
    advice="Declare the queue before you publish to it, or publish with mandatory=True and see what returns.",
    judge=judge_unroutable,
)


def judge_requeues(exchange: Exchange) -> Judgement:
    settled = [each for each in exchange.queue_readings if each.acked + each.requeued + each.discarded]
    sightings = [
        Sighting(
            each.client,
            each.queue,
            each.row_at,
            f"{each.client} put messages back into {each.queue} {each.longest_row:,} times in a row, "
            "and settled nothing in between",
            {"row": each.longest_row, "requeued": each.requeued, "acked": each.acked},
        )
        for each in settled
        if each.longest_row >= LONGEST_ROW
    ]
    return Judgement(len(settled), tuple(sightings))


REQUEUE_LOOP = Rule(
    id="requeue-loop",
    title="A message that is put back again and again",
    harm=Harm.STALLS,
    sign=f"A client requeues redelivered messages {LONGEST_ROW} times, and acks or discards none between.",
    sentence="A consumer that requeues what it cannot process is sent it again, in a loop of redeliveries.",
    source="RabbitMQ documentation, Consumer Acknowledgements: negative acknowledgement and requeuing",
    advice="Reject with requeue=False into a dead letter exchange, or use a quorum queue, which has a limit.",
    judge=judge_requeues,
)


def judge_in_hand(exchange: Exchange) -> Judgement:
    consumed = [each for each in exchange.queue_readings if each.most_in_hand]
    sightings = []
    for each in consumed:
        waited = exchange.taken - each.oldest if each.oldest is not None else 0.0
        if each.oldest is not None and waited > LONGEST_SECONDS:
            sentence = (
                f"{each.client} has {count(each.in_hand, 'message')} of {each.queue} in hand, the first for "
                f"{waited / 60:.0f} minutes, and settles none of them"
            )
            evidence = {"in_hand": each.in_hand, "waited": round(waited, 1), "acked": each.acked}
            sightings.append(Sighting(each.client, each.queue, each.oldest, sentence, evidence))
    return Judgement(len(consumed), tuple(sightings))


NEVER_ACKNOWLEDGED = Rule(
    id="never-acknowledged",
    title="A delivery that is never acknowledged",
    harm=Harm.STALLS,
    sign="A delivery is unacknowledged for more than 30 minutes of the sandbox's clock.",
    sentence="A delivery that is not acknowledged in 30 minutes ends its channel, and comes again.",
    source="RabbitMQ documentation, Consumers: Delivery Acknowledgement Timeout",
    advice="Acknowledge or reject every delivery, also duplicates and what cannot be processed.",
    judge=judge_in_hand,
    patient=True,
)


def judge_prefetch(exchange: Exchange) -> Judgement:
    consumed = [each for each in exchange.queue_readings if each.most_in_hand]
    sightings = [
        Sighting(
            each.client,
            each.queue,
            each.first,
            f"{each.client} had {each.most_in_hand:,} messages of {each.queue} in hand at once, "
            "and sets no prefetch limit",
            {"most_in_hand": each.most_in_hand, "delivered": each.delivered},
        )
        for each in consumed
        if not each.prefetch and each.most_in_hand >= MOST_IN_HAND
    ]
    return Judgement(len(consumed), tuple(sightings))


NO_PREFETCH_LIMIT = Rule(
    id="no-prefetch-limit",
    title="A consumer without a prefetch limit",
    harm=Harm.STALLS,
    sign=f"A consumer without basic.qos has {MOST_IN_HAND} unacknowledged deliveries or more at once.",
    sentence="Without a limit a consumer is sent the whole queue: its memory grows, and others get nothing.",
    source="RabbitMQ documentation, Consumer Prefetch",
    advice="Set basic_qos(prefetch_count=...) before you consume; 100 to 300 suit most consumers.",
    judge=judge_prefetch,
)
