"""A consumer that takes a whole queue, since it sets no prefetch limit."""

from __future__ import annotations

from emulator.diagnosis.rule import Harm, Judgement, Rule, Seen
from rdss_sandbox.shapes.recorded_exchange import Exchange

MOST_IN_HAND = 200


def judge(exchange: Exchange) -> Judgement:
    consumed = [each for each in exchange.queue_readings if each.most_in_hand]
    seen = [
        Seen(
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
    return Judgement(len(consumed), tuple(seen))


RULE = Rule(
    id="no-prefetch-limit",
    title="A consumer without a prefetch limit",
    harm=Harm.STALLS,
    sign=f"A consumer without basic.qos has {MOST_IN_HAND} unacknowledged deliveries or more at once.",
    sentence="Without a limit a consumer is sent the whole queue: its memory grows, and others get nothing.",
    source="RabbitMQ documentation, Consumer Prefetch",
    advice="Set basic_qos(prefetch_count=...) before you consume; 100 to 300 suit most consumers.",
    judge=judge,
)
