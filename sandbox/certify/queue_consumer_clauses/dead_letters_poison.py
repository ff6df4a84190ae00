"""What cannot be read is given up for good, and not lost without a trace."""

from __future__ import annotations

from collections import Counter

from sandbox.certify.clause import RABBITMQ, Clause, Finding, Group, Judgement, Role, judged
from sandbox.certify.exchange import Settlement, Verdict
from sandbox.certify.history import History, Level

_MOST_REQUEUES = 3


def judge(history: History) -> Judgement:
    """Poison ends as a dead letter, or is acknowledged after something was put on another queue."""
    given = {each.sequence_number for read in history.reads() for each in read.records}
    poison = [number for number in history.poison if number in given]
    requeued: Counter[str] = Counter()
    acked: dict[str, Settlement] = {}
    for settlement in history.settlements():
        for each in settlement.records:
            if settlement.verdict is Verdict.REQUEUE:
                requeued[each.sequence_number] += 1
            elif settlement.verdict is Verdict.ACK:
                acked[each.sequence_number] = settlement
    findings = []
    for number in poison:
        if requeued[number] > _MOST_REQUEUES:
            said = f"was put back {requeued[number]} times, and came again each time"
        elif number in acked and not _put_elsewhere(history, acked[number]):
            said = "was acknowledged and put nowhere: nobody learns of it"
        elif number not in acked and number not in history.dead_letters:
            said = "was neither rejected nor acknowledged, and comes again"
        else:
            continue
        findings.append(Finding(f"poison {number} {said}", Level.SILVER, {"number": number}))
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


CLAUSE = Clause(
    id="dead-letters-poison",
    role=Role.CONSUMER,
    group=Group.DELIVERY,
    level=Level.SILVER,
    demand="What is no message is rejected without requeue, or put on another queue and acknowledged.",
    source="RabbitMQ documentation, Dead Letter Exchanges, and Negative Acknowledgements",
    exercise="Bodies that are no JSON are sent between messages; the queue has a dead letter exchange.",
    needed=2,
    judge=judge,
    channels=RABBITMQ,
)
