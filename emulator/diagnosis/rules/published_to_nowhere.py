"""Messages for a queue that is not there, which nobody learns of."""

from __future__ import annotations

from emulator.diagnosis.rule import Harm, Judgement, Rule, Seen
from rdss_sandbox.shapes.recorded_exchange import Exchange


def judge(exchange: Exchange) -> Judgement:
    seen = [
        Seen(
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
    return Judgement(len(exchange.queue_writings), tuple(seen))


RULE = Rule(
    id="published-to-nowhere",
    title="A message published to a queue that is not there",
    harm=Harm.LOSES,
    sign="A message comes on the default exchange without mandatory, and no queue has its key's name.",
    sentence="A message that no queue takes is dropped, and confirmed; if it is mandatory, it is returned.",
    source="RabbitMQ documentation, Publishers: unroutable message handling",
    advice="Declare the queue before you publish to it, or publish with mandatory=True and see what returns.",
    judge=judge,
)
