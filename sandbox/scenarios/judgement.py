"""The verdict of a run: the observed facts against the contract and the scenario's expectations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from sandbox.judging.verdict import Verdict, VerdictLine, verdict_of
from sandbox.scenarios.condition import Condition
from sandbox.scenarios.facts import CONTRACT, Facts
from sandbox.scenarios.scenario import Scenario


@dataclass(frozen=True, slots=True)
class ScenarioJudgement:
    """The lines of a verdict; without lines, ``note`` says why the scenario could not be played.

    Of a run against a command, ``not_observable`` has the facts that nobody can see of it, with the reason,
    and ``remarks`` has sentences on what it did wrong.
    """

    facts: Facts
    lines: tuple[VerdictLine, ...]
    note: str = ""
    not_observable: Mapping[str, str] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()

    @property
    def verdict(self) -> Verdict:
        return verdict_of(self.lines) if self.lines else Verdict.INCONCLUSIVE


def judge_facts(scenario: Scenario, facts: Facts) -> ScenarioJudgement:
    """Compare the facts with the scenario.

    A fault that was not injected as expected makes the verdict inconclusive: it is not the client's failure.
    """
    return ScenarioJudgement(facts, tuple(_lines(scenario, facts)))


def unplayable(why: str) -> ScenarioJudgement:
    """The judgement of a scenario that could not be played, for the reason ``why``."""
    return ScenarioJudgement({}, (), why)


def _lines(scenario: Scenario, facts: Facts) -> Iterator[VerdictLine]:
    conditions = {fact: Condition("==", value) for fact, value in CONTRACT.items()} | scenario.conditions()
    for fact, condition in conditions.items():
        value = facts.get(fact, 0)
        holds = condition.holds(value, facts)
        shown = fact.partition(".")[0] == "injected"
        yield VerdictLine(
            fact, f"{value:,.10g}", condition.describe(facts), holds if holds or not shown else None
        )
