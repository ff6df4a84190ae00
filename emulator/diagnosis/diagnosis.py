"""The diagnosis of a recorded exchange: every rule's verdict, and what was found."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import asdict

from emulator.diagnosis.rule import Judgement, Rule
from emulator.diagnosis.rules import RULES
from rdss_sandbox.shapes.diagnosis import Diagnosis, Finding, RuleVerdict
from rdss_sandbox.shapes.recorded_exchange import Exchange


def diagnose(exchange: Exchange, rules: Iterable[Rule] = RULES) -> Diagnosis:
    """Judge an exchange by every rule. The same exchange always gives the same diagnosis."""
    judged = [(rule, rule.judge(exchange)) for rule in rules]
    return Diagnosis(
        exchange.taken,
        tuple(finding for rule, judgement in judged for finding in _list_findings(rule, judgement)),
        tuple(_build_verdict(rule, judgement) for rule, judgement in judged),
        exchange.clients,
    )


def _list_findings(rule: Rule, judgement: Judgement) -> list[Finding]:
    return [
        Finding(rule=rule.id, title=rule.title, harm=rule.harm.value, advice=rule.advice, **asdict(sighting))
        for sighting in sorted(judgement.sightings, key=lambda sighting: sighting.at)
    ]


def _build_verdict(rule: Rule, judgement: Judgement) -> RuleVerdict:
    verdict = "found" if judgement.sightings else "not-found" if judgement.looked else "no-opportunity"
    looked, found = judgement.looked, len(judgement.sightings)
    return RuleVerdict(rule.id, rule.title, rule.harm.value, verdict, looked, found)  # type: ignore[arg-type]
