"""A clause: one thing that a certificate demands, how it is tried, and how it is judged."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final, Protocol, TypeVar

import msgspec

from emulator.diagnosis.rule import Rule
from rdss_sandbox.shapes.certificate import Finding
from sandbox.certify.history import History, Level, Life
from schemas.contract import Contract, describe_contract

SPECIFICATION: Final = "RDSS Message API 4.0.0"
_RDSS: Final = "rdss"
MOST_FINDINGS: Final = 20
_LAST_LINES: Final = 5
NEVER_LANDED: Final = "stimulus-never-landed"
NEVER_USED: Final = "feature-never-used"
NOTHING_TOLD: Final = "nothing-told"
NEEDS_PATIENCE: Final = "needs-patience"
EXITED_EARLY: Final = "client-exited-early"
JUDGE_ERROR: Final = "judge-error"
REASONS: Final = {
    NEVER_LANDED: "nothing that tries it reached the client",
    EXITED_EARLY: "the client had ended by itself with an error",
    NEVER_USED: "the client does not work that way",
    NEEDS_PATIENCE: "a stage was cut while the client was at work; --patience gives it longer",
    NOTHING_TOLD: "the client reported none of the messages that it got",
    "not-observable": "the client does not print what is needed to judge it",
    JUDGE_ERROR: "the judge of this clause failed; the other verdicts stand",
    "deselected": "--group left it out",
    "not-in-level": "--level left it out",
}
"""What each reason of a verdict means, to people."""
UNTIL: Final = " until the client was started again"
"""What a finding ends with that a later start repaired, too late."""


class Role(StrEnum):
    """What a client does with the stream, or the queue."""

    CONSUMER = "consumer"
    PRODUCER = "producer"


KINESIS: Final = frozenset({"kinesis"})
RABBITMQ: Final = frozenset({"rabbitmq"})
ALL_CHANNELS: Final = frozenset[str]()


class Group(StrEnum):
    """``delivery`` needs a client that knows the messageId; ``contract`` one that knows the specification."""

    DELIVERY = "delivery"
    CONTRACT = "contract"


@dataclass(frozen=True, slots=True)
class Judgement:
    """``exposure`` counts how often what the clause is about reached the client.

    ``reason`` says why that was not often enough; ``NEVER_USED``, that the client does not work that way.
    """

    exposure: int
    findings: tuple[Finding, ...] = ()
    reason: str = NEVER_LANDED


@dataclass(frozen=True, slots=True)
class Clause:
    """``needed`` is the least exposure for a verdict; ``source`` the section of the document behind it.

    ``@partial(Clause, ...)`` above a judge makes the clause of it. ``advice`` says what to do about a
    failure; a clause without any gives that of its rules.

    It is for the clients of these kinds of ``channels``, of every kind where there are none, and of the
    contracts of which ``asked_of`` is true. The ``rules`` of the diagnosis mean the same: what they find in
    the run breaches the clause too, so that ``sandbox diagnose`` and a certificate agree.
    """

    judge: Callable[[History], Judgement]
    id: str
    role: Role
    group: Group
    level: Level
    demand: str
    source: str
    exercise: str
    needed: int
    channels: frozenset[str] = KINESIS
    rules: tuple[Rule, ...] = ()
    asked_of: Callable[[Contract], bool] = lambda _contract: True
    advice: str = ""

    def advise(self) -> str:
        """What to do when the clause fails."""
        return self.advice or " ".join(rule.advice for rule in self.rules)

    def cite(self, contract: Contract) -> str:
        """The document behind the clause; RDSS's specification is behind no other contract."""
        elsewhere = self.source.startswith(SPECIFICATION) and not is_rdss(contract)
        return describe_contract(contract) if elsewhere else self.source


def has_sequences(contract: Contract) -> bool:
    """Whether messages come in parts."""
    return contract.sequences is not None


def has_versions(contract: Contract) -> bool:
    """Whether messages of older releases are taken."""
    return contract.versions is not None


def has_expiry(contract: Contract) -> bool:
    """Whether messages expire."""
    return contract.expired is not None


def has_ids(contract: Contract) -> bool:
    """Whether messages say their own ids: without, two with the same bytes may be meant."""
    return contract.by_digest is None


def has_rejects(contract: Contract) -> bool:
    """Whether what is refused has to go somewhere."""
    return contract.rejects


def is_rdss(contract: Contract) -> bool:
    """Whether it is RDSS's, for what only its specification demands."""
    return contract.name == _RDSS


def judged(exposure: int, findings: Iterable[Finding], reason: str = NEVER_LANDED) -> Judgement:
    """Build a judgement that keeps the first findings only."""
    return Judgement(exposure, tuple(findings)[:MOST_FINDINGS], reason)


def report(history: History, at: float, sentence: str, **facts: Any) -> Finding:
    """A breach that happened at a time, of the level of the stage that was under way."""
    return Finding(sentence, history.level_at(at), {"at": at, **facts})


class _Named(Protocol):
    @property
    def message_id(self) -> str | None: ...


_T = TypeVar("_T", bound=_Named)


def judge_each(items: Iterable[_T], find_wrong: Callable[[_T], str | None]) -> Judgement:
    """Judge messages one by one, at gold: ``find_wrong`` says what is wrong with one, or nothing."""
    every = tuple(items)
    findings = (
        Finding(said, Level.GOLD, {"messageId": each.message_id})
        for each in every
        if (said := find_wrong(each))
    )
    return judged(len(every), findings)


def judge_clause(clause: Clause, history: History) -> Judgement:
    """Judge a run by a clause, the times included that the client ended by itself while it was under way.

    A judge that raises gives the reason ``judge-error``.
    """
    try:
        if clause.role is Role.CONSUMER and history.tells_nothing():
            return Judgement(0, tuple(_early_ends(clause, history)), NOTHING_TOLD)
        judgement = clause.judge(history)
        # A clause knows more than a rule of what was sent and told, so its own words come first.
        breaches = judgement.findings or tuple(_judge_by_rules(clause, history))[:MOST_FINDINGS]
        placed = (_place(each, history) for each in breaches)
        return replace(judgement, findings=(*_early_ends(clause, history), *placed))
    except Exception as error:  # noqa: BLE001 -- one judge's failure must not hide the verdicts of the others
        return Judgement(0, (), f"{JUDGE_ERROR}: {error!r}")


def _judge_by_rules(clause: Clause, history: History) -> Iterator[Finding]:
    """A finding for each mistake that the clause's rules see in the exchange that the sandbox recorded."""
    if history.recorded is None:
        return
    for rule in clause.rules:
        for sighting in rule.judge(history.recorded).sightings:
            if sighting.stream == history.stream:
                facts = {"rule": rule.id, "shard": sighting.shard, **sighting.evidence}
                yield Finding(sighting.said, history.level_at(sighting.at - history.epoch), facts)


def _place(finding: Finding, history: History) -> Finding:
    """The finding with the stage in which it happened, or in which its message was sent."""
    facts = finding.facts
    named = facts.get("messageId") or next(iter(facts.get("messageIds", ())), None)
    at = facts.get("at", next((sent.at for sent in history.sent if sent.message_id == named), None))
    if at is None or finding.stage:
        return finding
    return msgspec.structs.replace(finding, stage=history.stage_at(at))


def _early_ends(clause: Clause, history: History) -> Iterator[Finding]:
    """A finding for each way in which the client ended by itself while this clause was under way."""
    found: dict[tuple[str, int | None, tuple[str, ...]], list[Life]] = defaultdict(list)
    for life in history.lives:
        done = clause.role is Role.PRODUCER and not life.code
        if life.end == "itself" and life.clause == clause.id and not done:
            found[life.stage, life.code, life.output[-1:]].append(life)
    for (stage, code, _), lives in found.items():
        yield Finding(
            f"the {clause.role} ended by itself with exit code {code} during the stage {stage}",
            lives[0].level,
            {"start": lives[0].number + 1},
            stage,
            len(lives),
            lives[0].output[-_LAST_LINES:],
        )
