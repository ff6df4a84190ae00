"""A consumer with automatic acknowledgement whose connection broke with deliveries under way."""

from __future__ import annotations

from emulator.diagnosis.rule import Harm, Judgement, Rule, Seen, count
from rdss_sandbox.shapes.recorded_exchange import Exchange


def judge(exchange: Exchange) -> Judgement:
    seen = []
    for reading in exchange.queue_readings:
        if not reading.broken:
            continue
        first = reading.broken[0]
        faults = tuple(sorted({each.fault for each in reading.broken if each.fault}))
        cause = f", cut by the fault {' and '.join(faults)}," if faults else ""
        said = (
            f"{reading.client} consumed {reading.queue} with automatic acknowledgement; the connection broke"
            f"{cause} within a second of {count(first.recent, 'message')} sent to it: "
            "what it had not processed is lost"
        )
        evidence = {"recent": [each.recent for each in reading.broken], "delivered": reading.delivered}
        seen.append(Seen(reading.client, reading.queue, first.at, said, evidence, faults=faults))
    return Judgement(sum(each.breaks for each in exchange.queue_readings), tuple(seen))


RULE = Rule(
    id="auto-ack-in-a-crash",
    title="Messages in hand with automatic acknowledgement when the connection broke",
    harm=Harm.LOSES,
    sign="A consumer has no_ack set; its connection ends without a close, within a second of a delivery.",
    sentence="With automatic acknowledgement a message counts as delivered as soon as it is sent.",
    source="RabbitMQ documentation, Consumer Acknowledgements and Publisher Confirms",
    advice="Consume with auto_ack=False, and acknowledge each message after its work is done.",
    judge=judge,
)
