"""The producer waits longer from refusal to refusal."""

from __future__ import annotations

from collections import defaultdict
from statistics import median

from emulator.diagnosis.rules import no_back_off
from sandbox.certify.clause import Clause, Finding, Group, Judgement, Role, judged
from sandbox.certify.history import History, Level
from sandbox.certify.producer_clauses.failed_puts import THROTTLED

_SHORTEST_SECONDS = 0.02
_MOST_PAUSE_SECONDS = 30.0


def judge(history: History) -> Judgement:
    """The pauses before the retries of a throttled message: their median, and whether any grows."""
    pauses = pauses_after_throttling(history)
    every = [pause for each in pauses for pause in each]
    findings = []
    if every and median(every) < _SHORTEST_SECONDS:
        findings.append(
            Finding(
                f"half of the {len(every)} retries after a refusal came within {median(every) * 1000:.0f} ms",
                Level.SILVER,
                {"retries": len(every), "median": round(median(every), 4)},
            )
        )
    long = [each for each in pauses if len(each) > 1]
    if long and not no_back_off.grow(long):
        findings.append(
            Finding(
                "no pause was longer than the one before it",
                Level.SILVER,
                {"pauses": [[round(pause, 3) for pause in each] for each in long[:5]]},
            )
        )
    return judged(len(every), findings)


def pauses_after_throttling(history: History) -> list[list[float]]:
    """For each throttled message the seconds from each refusal to its next try, in one start."""
    refused: dict[str | None, tuple[float, int]] = {}
    pauses: dict[str | None, list[float]] = defaultdict(list)
    for put in history.puts():
        for entry in put.entries:
            before = refused.pop(entry.message_id, None)
            if before and before[1] == put.life and put.asked - before[0] < _MOST_PAUSE_SECONDS:
                pauses[entry.message_id].append(put.asked - before[0])
            if (put.error or entry.error) == THROTTLED:
                refused[entry.message_id] = (put.at, put.life)
    return list(pauses.values())


CLAUSE = Clause(
    id="backs-off",
    role=Role.PRODUCER,
    group=Group.DELIVERY,
    level=Level.SILVER,
    demand="A producer that is refused for lack of throughput waits, and longer from time to time.",
    source="Amazon Kinesis Data Streams Developer Guide, Producers: retries and back-off",
    exercise="Some messages are refused three times in a row.",
    needed=4,
    judge=judge,
    rules=(no_back_off.RULE,),
)
