"""A delivery that a client neither acknowledges nor rejects."""

from __future__ import annotations

from emulator.diagnosis.rule import Harm, Judgement, Rule, Seen, count
from rdss_sandbox.shapes.recorded_exchange import Exchange

LONGEST_SECONDS = 1_800.0


def judge(exchange: Exchange) -> Judgement:
    consumed = [each for each in exchange.queue_readings if each.most_in_hand]
    seen = []
    for each in consumed:
        waited = exchange.taken - each.oldest if each.oldest is not None else 0.0
        if each.oldest is not None and waited > LONGEST_SECONDS:
            said = (
                f"{each.client} has {count(each.in_hand, 'message')} of {each.queue} in hand, the first for "
                f"{waited / 60:.0f} minutes, and settles none of them"
            )
            evidence = {"in_hand": each.in_hand, "waited": round(waited, 1), "acked": each.acked}
            seen.append(Seen(each.client, each.queue, each.oldest, said, evidence))
    return Judgement(len(consumed), tuple(seen))


RULE = Rule(
    id="never-acknowledged",
    title="A delivery that is never acknowledged",
    harm=Harm.STALLS,
    sign="A delivery is unacknowledged for more than 30 minutes of the sandbox's clock.",
    sentence="A delivery that is not acknowledged in 30 minutes ends its channel, and comes again.",
    source="RabbitMQ documentation, Consumers: Delivery Acknowledgement Timeout",
    advice="Acknowledge or reject every delivery, also duplicates and what cannot be processed.",
    judge=judge,
    patient=True,
)
