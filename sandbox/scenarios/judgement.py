"""The verdict of a play: the contract and what the scenario expects, each beside what was observed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sandbox.judging.verdict import Verdict, VerdictLine, verdict_of
from sandbox.scenarios.condition import Condition
from sandbox.scenarios.facts import CONTRACT, Facts
from sandbox.scenarios.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Judgement:
    """Every line; without any, ``note`` says why nothing could be said."""

    facts: Facts
    lines: tuple[VerdictLine, ...]
    note: str = ""

    @property
    def verdict(self) -> Verdict:
        return verdict_of(self.lines) if self.lines else Verdict.INCONCLUSIVE


def judge_facts(scenario: Scenario, facts: Facts) -> Judgement:
    """Hold the facts against the scenario. What shows that a fault struck is not the client's to fulfil."""
    return Judgement(facts, tuple(_lines(scenario, facts)))


def unplayable(why: str) -> Judgement:
    """Nothing can be said."""
    return Judgement({}, (), why)


def _lines(scenario: Scenario, facts: Facts) -> Iterator[VerdictLine]:
    wanted = {fact: Condition("==", value) for fact, value in CONTRACT.items()} | scenario.conditions()
    for fact, condition in wanted.items():
        value = facts.get(fact, 0)
        holds = condition.holds(value, facts)
        shown = fact.partition(".")[0] == "injected"
        yield VerdictLine(
            fact, f"{value:,.10g}", condition.shown(facts), holds if holds or not shown else None
        )
