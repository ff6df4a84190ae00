"""A client that puts what it cannot process back into the queue, again and again."""

from __future__ import annotations

from emulator.diagnosis.rule import Harm, Judgement, Rule, Seen
from rdss_sandbox.shapes.recorded_exchange import Exchange

LONGEST_ROW = 20


def judge(exchange: Exchange) -> Judgement:
    settled = [each for each in exchange.queue_readings if each.acked + each.requeued + each.discarded]
    seen = [
        Seen(
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
    return Judgement(len(settled), tuple(seen))


RULE = Rule(
    id="requeue-loop",
    title="A message that is put back again and again",
    harm=Harm.STALLS,
    sign=f"A client requeues redelivered messages {LONGEST_ROW} times, and acks or discards none between.",
    sentence="A consumer that requeues what it cannot process is sent it again, in a loop of redeliveries.",
    source="RabbitMQ documentation, Consumer Acknowledgements: negative acknowledgement and requeuing",
    advice="Reject with requeue=False into a dead letter exchange, or use a quorum queue, which has a limit.",
    judge=judge,
)
