"""The pauses of a producer that is refused: that it makes them, and those of the specification."""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from itertools import groupby, pairwise
from operator import attrgetter
from statistics import median

from emulator.diagnosis.rules import refusal_rules
from rdss_sandbox.shapes.certificate import Finding
from sandbox.certify.clause import Clause, Group, Judgement, Role, is_rdss, judged
from sandbox.certify.history import History, Level
from sandbox.certify.producer_clauses.failure_clauses import THROTTLED, list_refusals

_SHORTEST_SECONDS = 0.02
_MOST_PAUSE_SECONDS = 30.0
_FIRST_SECONDS = 0.2
_EARLY = 0.9
_LATE = 2.0
_LATE_SECONDS = 0.3


@partial(
    Clause,
    id="backs-off",
    role=Role.PRODUCER,
    group=Group.DELIVERY,
    level=Level.SILVER,
    demand="A producer that is refused for lack of throughput waits, and longer from time to time.",
    source="Amazon Kinesis Data Streams Developer Guide, Producers: retries and back-off",
    exercise="Some messages are refused three to five times in a row.",
    needed=4,
    rules=(refusal_rules.NO_BACK_OFF,),
)
def backs_off(history: History) -> Judgement:
    """The pauses before the retries of a throttled message: their median, and whether short ones grow."""
    pauses = pauses_after_throttling(history)
    every = [pause for each in pauses for pause in each]
    findings = []
    if hasty := refusal_rules.find_haste(every, _SHORTEST_SECONDS):
        findings.append(Finding(f"the producer {hasty}", Level.SILVER))
    long = [each for each in pauses if len(each) > 1]
    # Of pauses that are drawn at random, as SDKs draw them, some rows grow and some do not.
    if long and median(every) < refusal_rules.STEADY_SECONDS and not refusal_rules.grow(long):
        facts = {"pauses": [[round(pause, 3) for pause in each] for each in long[:5]]}
        findings.append(Finding("no pause was longer than the one before it", Level.SILVER, facts))
    return judged(len(every), findings)


def pauses_after_throttling(history: History) -> list[list[float]]:
    """For each throttled message the seconds from each refusal to its next try, in one start."""
    lives = groupby(sorted(history.puts(), key=attrgetter("life")), attrgetter("life"))
    rows = [each.pauses for _, life in lives for each in list_refusals(life, THROTTLED.__eq__)]
    return [[pause for pause in row if pause < _MOST_PAUSE_SECONDS] for row in rows if row]


@partial(
    Clause,
    id="back-off-as-specified",
    role=Role.PRODUCER,
    group=Group.CONTRACT,
    level=Level.GOLD,
    demand="A message that cannot be sent is tried again after 200 ms, and twice as long each time.",
    source="RDSS Message API 4.0.0, Message Gateway: exponential back-off",
    exercise="Some messages are refused three to five times in a row.",
    advice="Turn the SDK's own retries off, and wait 200 ms, 400 ms, 800 ms and so on between your tries.",
    needed=4,
    asked_of=is_rdss,
)
def back_off_as_specified(history: History) -> Judgement:
    """The n-th pause is 200 ms times two to the n.

    A loaded machine makes some pauses longer, and none shorter. So each may be too short, and only the
    shortest of all n-th pauses too long: by more than the producer usually takes from call to call.
    """
    by_number: dict[int, list[float]] = defaultdict(list)
    for pauses in pauses_after_throttling(history):
        for number, pause in enumerate(pauses):
            by_number[number].append(pause)
    usual, findings = _usual_gap(history), []
    for number, pauses in by_number.items():
        seconds = _FIRST_SECONDS * 2**number
        late = min(pauses) > seconds * _LATE + _LATE_SECONDS + usual
        findings += [
            Finding(f"pause {number + 1} took {pause * 1000:.0f} ms, not {seconds * 1000:.0f} ms", Level.GOLD)
            for pause in pauses
            if late or pause < seconds * _EARLY
        ]
    return judged(sum(map(len, by_number.values())), findings)


def _usual_gap(history: History) -> float:
    """The median time in seconds from the answer to a call that went well to the next call of that start."""
    gaps = [
        after.asked - before.at
        for before, after in pairwise(history.puts())
        if before.life == after.life and not before.error and not any(each.error for each in before.entries)
    ]
    return median(gaps) if gaps else 0.0
