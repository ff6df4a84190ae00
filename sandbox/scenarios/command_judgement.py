"""The verdict of a run against a command: what can be seen of it from outside, and what cannot."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sandbox.certify.consumer_clauses import resharding_clauses
from sandbox.certify.history import History
from sandbox.judging.verdict import VerdictLine
from sandbox.scenarios.command_play import CommandRun
from sandbox.scenarios.command_receiver import describe_end
from sandbox.scenarios.condition import Condition
from sandbox.scenarios.facts import CONTRACT, Facts, compute_facts
from sandbox.scenarios.judgement import ScenarioJudgement
from sandbox.scenarios.scenario import INPUT, Scenario

ENDED: Final = "ended"
"""The fact that only a run against a command has: how often the command ended by itself."""
_OWN_AFFAIR: Final = "what a command drops or keeps is its own affair"
NOT_OBSERVABLE: Final = {
    "lag": "a command works in real time, while the clock of the scenario jumps",
    "kept": "where a command keeps what no queue can hold is its own affair",
    "dropped": _OWN_AFFAIR,
    "echoes": _OWN_AFFAIR,
    "waiting": _OWN_AFFAIR,
    "claims": "a command reads the stream, and claims nothing",
    "expired": "a command reads the stream, and claims nothing",
}
"""The facts that are not judged of a command, whatever it does, with the reason."""
_NO_DIGEST: Final = "the command tells no sha256 of the bodies"
_READS_AGAIN: Final = "a command may read a record again, as long as it processes it once"
_STIMULI: Final = frozenset(
    {
        "acknowledged", "backlog", "closed_shards", "copies", "crashes", "delivered", "due", "incomplete",
        "injected", "offered", "out_of_order", "own", "parts", "reached", "redelivered", "refused",
        "repeated", "repeats", "sent", "sequences", "shards", "took", "valid",
    }
)  # fmt: skip
"""The facts that are ours to bring about: where one is missing, the command was not put to the test."""
_MOST_REMARKS: Final = 5


def judge_command(scenario: Scenario, run: CommandRun) -> ScenarioJudgement:
    """Compare what was seen of a command with the contract and with the scenario's expectations.

    What cannot be seen has no line. It is told in ``not_observable``, and does not count for the verdict,
    except for what the command could have told.
    """
    history = run.history
    facts = compute_facts(run.played)
    ended = [life for life in history.lives if life.end == "itself"]
    facts[ENDED] = len(ended)
    records = {(read.shard, each.sequence_number) for read in history.reads() for each in read.records}
    names = {each.fields["message_id"] for each in run.played.events if each.kind == "message.delivered"}
    conditions = _conditions(scenario)
    # How often a command reads a record is its own affair: what must not repeat are the records.
    if not conditions.get("repeated", Condition("<", 0)).holds(facts["repeated"], facts):
        facts["repeated"] = len(records) - len(names)
    for fact in NOT_OBSERVABLE:
        facts.pop(fact, None)
    silent = not any(each.digest for each in history.told)
    if silent:
        facts.pop("altered")
    unseen = {fact: why for fact, why in NOT_OBSERVABLE.items() if fact in conditions}
    if facts["redelivered"] and not conditions.get("redelivered", Condition(">=", 0)).holds(
        facts["redelivered"], facts
    ):
        unseen["redelivered"] = _READS_AGAIN
    lines = tuple(_lines({k: v for k, v in conditions.items() if k not in unseen}, facts, silent=silent))
    if silent:
        unseen["altered"] = _NO_DIGEST
    return ScenarioJudgement(
        facts, lines, not_observable=unseen, remarks=tuple(_remarks(history))[:_MOST_REMARKS]
    )


def _conditions(scenario: Scenario) -> dict[str, Condition]:
    contract = {fact: Condition("==", value) for fact, value in CONTRACT.items()}
    return contract | {ENDED: Condition("==", 0)} | scenario.conditions()


def _lines(conditions: dict[str, Condition], facts: Facts, *, silent: bool) -> Iterator[VerdictLine]:
    for fact, condition in conditions.items():
        expected = condition.describe(facts)
        if fact == "altered" and silent:
            yield VerdictLine(fact, "not observable", expected, holds=None)
            continue
        value = facts.get(fact, 0)
        holds = condition.holds(value, facts)
        stimulus = fact.partition(".")[0] in _STIMULI
        yield VerdictLine(fact, f"{value:,.10g}", expected, holds if holds or not stimulus else None)


def _remarks(history: History) -> Iterator[str]:
    """What a person wants to know of a command that fails, in sentences."""
    if not history.exchanges:
        yield "the command made no request that was seen, so that nothing was sent to it"
    elif not history.reads():
        yield f"the command read nothing from {INPUT}, so that nothing was sent to it"
    elif any(read.records for read in history.reads()) and not history.told:
        yield (
            "the command was given records and told of none: it prints "
            '{"processed": "<messageId>"} for each, or --processed finds the messageId in its lines'
        )
    for life in history.lives:
        if life.end == "itself":
            yield f"{describe_end(life)}; its last lines: {' / '.join(life.output[-3:]) or 'none'}"
        elif life.end == "hung":
            yield "it did not end at SIGTERM within ten seconds, and was killed"
    for finding in resharding_clauses.every_shard_read.judge(history).findings:
        yield finding.said
