"""Clauses and rules that mean the same share one piece of code, and agree."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from types import CodeType, FunctionType, ModuleType
from typing import Final

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.diagnosis.rules import RULES, expired_iterator, refusal_rules, shard_rules, unread_shards
from emulator.diagnosis.rules.shard_rules import find_burst
from emulator.diagnosis.shard_record import ReadingRun, ShardRecord
from rdss_sandbox.shapes.certificate import ClauseVerdict
from rdss_sandbox.shapes.recorded_exchange import (
    BadMessage,
    Contents,
    Exchange,
    Expiry,
    Reading,
    RefusedAttempt,
    ShardReads,
    ShardState,
    StreamState,
)
from rdss_sandbox.shapes.trace import Read
from sandbox.certify.clause import Role, judge_clause
from sandbox.certify.clause_verdicts import judge_clauses
from sandbox.certify.clauses import CLAUSES, clauses
from sandbox.certify.history import History, Level

_PARENT, _CHILD = "shardId-000000000000", "shardId-000000000001"
_EPOCH = 1_000.0


def _shard(
    name: str, records: int, parents: tuple[str, ...] = (), children: tuple[str, ...] = ()
) -> ShardState:
    return ShardState(name, parents, children, not children, 1, records + 1, _EPOCH)


def _reads(shard: str, *runs: Reading, expiries: tuple[Expiry, ...] = ()) -> ShardReads:
    return ShardReads("reader", "input", shard, runs, expiries=expiries)


_BESIDE = _shard("shardId-000000000002", 2)
_SPLIT = StreamState(
    "input", (_shard(_PARENT, 4, children=(_CHILD,)), _shard(_CHILD, 6, (_PARENT,)), _BESIDE)
)
_BAD = (BadMessage(_PARENT, "1", "m", _EPOCH + 1, "what is wrong"),)
_ENDED = Reading("TRIM_HORIZON", _EPOCH + 1, 1, 5, _EPOCH + 2, 3, (_EPOCH + 1, _EPOCH + 2), ended=True)
_FAST = Reading("TRIM_HORIZON", _EPOCH + 1, 1, 5, _EPOCH + 2, 30, (_EPOCH + 1, _EPOCH + 2), busiest=1.0)
_POLLED = Reading("TRIM_HORIZON", _EPOCH + 1, 1, 5, _EPOCH + 9, 9, (_EPOCH + 1, _EPOCH + 2))
_LATEST = Reading("LATEST", _EPOCH + 1, 3, 5, _EPOCH + 2, 2)
_EARLY = Reading("TRIM_HORIZON", _EPOCH + 1, 1, 7, _EPOCH + 9, 2, (_EPOCH + 1, _EPOCH + 9))
_LATE = Reading("TRIM_HORIZON", _EPOCH + 1, 1, 5, _EPOCH + 8, 2, (_EPOCH + 3, _EPOCH + 8), ended=True)
_STUCK = Expiry(_EPOCH + 1, 2, 1.0, "expire", again=5)


@pytest.mark.parametrize(
    ("clause", "role", "reads", "refusals"),
    [
        ("every-shard-read", Role.CONSUMER, (_reads(_PARENT, _ENDED),), ()),
        ("every-shard-read", Role.CONSUMER, (_reads(_PARENT, _POLLED),), ()),
        ("parents-before-children", Role.CONSUMER, (_reads(_PARENT, _LATE), _reads(_CHILD, _EARLY)), ()),
        ("nothing-lost", Role.CONSUMER, (_reads(_PARENT, _LATEST),), ()),
        ("survives-expired-iterators", Role.CONSUMER, (_reads(_PARENT, _LATEST, expiries=(_STUCK,)),), ()),
        ("reads-within-limits", Role.CONSUMER, (_reads(_PARENT, _FAST),), ()),
        (
            "retries-failed-entries",
            Role.PRODUCER,
            (),
            (RefusedAttempt("writer", "input", "PutRecords", "InternalFailure", _EPOCH + 1, batch=True),),
        ),
        (
            "backs-off",
            Role.PRODUCER,
            (),
            (
                RefusedAttempt(
                    "writer",
                    "input",
                    "PutRecord",
                    "ProvisionedThroughputExceededException",
                    _EPOCH + 1,
                    (0.001,) * 4,
                ),
            ),
        ),
        (
            "never-oversize",
            Role.PRODUCER,
            (),
            (
                RefusedAttempt(
                    "writer", "input", "PutRecord", "ValidationException", _EPOCH + 1, bytes=2_000_000
                ),
            ),
        ),
    ],
)
def test_a_clause_fails_where_its_rule_finds_something(
    clause: str, role: Role, reads: tuple[ShardReads, ...], refusals: tuple[RefusedAttempt, ...]
) -> None:
    """The level is the one of the stage in which it happened; other streams of the run do not count."""
    exchange = Exchange(_EPOCH + 400, streams=(_SPLIT,), reads=reads, refusals=refusals)
    history = History("input", 0.0, recorded=exchange, epoch=_EPOCH)
    history.stages = [(0.0, "duplicates", Level.SILVER)]
    wanted = [each for each in clauses(role) if each.id == clause]
    (result,), _ = judge_clauses(wanted, history, "again")
    assert result.verdict is ClauseVerdict.FAIL
    assert {finding.level for finding in result.evidence} == {Level.SILVER}
    assert {finding.facts["rule"] for finding in result.evidence} <= {each.id for each in wanted[0].rules}
    (elsewhere,), _ = judge_clauses(wanted, History("other", 0.0, recorded=exchange), "again")
    assert elsewhere.verdict is ClauseVerdict.NOT_EXERCISED


@pytest.mark.parametrize(
    ("clause", "contents"),
    [
        ("valid-messages", Contents(messages=1, invalid=_BAD)),
        ("valid-messages", Contents(messages=12, foreign_records=1, foreign=_BAD)),
        ("keeps-the-message-id", Contents(messages=1, altered=_BAD)),
        ("sends-nothing-expired", Contents(messages=1, expiring=1, expired=_BAD)),
    ],
)
def test_a_producers_clause_fails_where_its_rule_finds_a_bad_message(clause: str, contents: Contents) -> None:
    stream = msgspec.structs.replace(_SPLIT, contents=contents)
    history = History("input", 0.0, recorded=Exchange(_EPOCH + 400, streams=(stream,)), epoch=_EPOCH)
    wanted = [each for each in clauses(Role.PRODUCER) if each.id == clause]
    (result,), _ = judge_clauses(wanted, history, "again")
    assert result.verdict is ClauseVerdict.FAIL


_SHARED: Final = {
    "every-shard-read": unread_shards.count_left,
    "parents-before-children": shard_rules.find_late,
    "survives-expired-iterators": expired_iterator.find_reaction,
    "retries-failed-entries": refusal_rules.find_dropped,
    "backs-off": refusal_rules.find_haste,
}
_MEASURED_WHERE_RECORDED: Final = {"reads-within-limits", "valid-messages", "keeps-the-message-id"}
"""Their rules judge by what the recorder has measured with the clause's function already."""
_JUDGED_BY_THE_RULE: Final = {"never-oversize"}
"""Their judges only count how often they were tried."""
_BY_WHAT_IS_TOLD_OR_SENT: Final = {"nothing-lost", "sends-nothing-expired"}
"""They judge by what no rule can know."""


def test_a_clause_and_its_rules_share_one_judgement() -> None:
    """The clause's judge calls the function by which each rule judges that finds the same mistake."""
    with_rules = {clause.id for clause in CLAUSES if clause.rules}
    others = _MEASURED_WHERE_RECORDED | _JUDGED_BY_THE_RULE | _BY_WHAT_IS_TOLD_OR_SENT
    assert with_rules == _SHARED.keys() | others
    for clause in CLAUSES:
        if clause.rules and (shared := _SHARED.get(clause.id)) is not None:
            judges: list[Callable[..., object]] = [clause.judge, *(rule.judge for rule in clause.rules)]
            for judge in judges:
                assert shared in _list_called(judge), (clause.id, judge)


def _list_called(judge: Callable[..., object]) -> set[object]:
    """The project's functions that a function names, and those that these name."""
    found: set[object] = set()
    left: list[object] = [judge]
    while left:
        function = left.pop()
        if isinstance(function, FunctionType) and function not in found:
            found.add(function)
            modules = [each for each in function.__globals__.values() if isinstance(each, ModuleType)]
            for name in _list_names(function.__code__):
                left += [vars(each).get(name) for each in modules if each.__name__.startswith("emulator.")]
                left.append(function.__globals__.get(name))
    return found


def _list_names(code: CodeType) -> set[str]:
    inner = (each for each in code.co_consts if isinstance(each, CodeType))
    return set(code.co_names).union(*map(_list_names, inner))


@pytest.mark.parametrize(("settled", "now", "dropped"), [(False, 62.0, 1), (False, 60.5, 0), (True, 62.0, 0)])
def test_an_entry_that_was_tried_again_in_vain_is_dropped(*, settled: bool, now: float, dropped: int) -> None:
    """A minute is given from the last try on, and an entry that was taken in the end is not dropped."""
    entry = RefusedAttempt("w", "s", "PutRecords", "InternalFailure", 0.0, (1.0,), settled, batch=True)
    assert len(refusal_rules.find_dropped([entry], now)) == dropped


def test_without_a_finding_no_verdict_changes() -> None:
    """An exchange in which no rule finds anything leaves every judgement as it was."""
    history = History("input", 0.0)
    before = [judge_clause(each, history) for each in CLAUSES]
    history.recorded = Exchange(_EPOCH)
    assert [judge_clause(each, history) for each in CLAUSES] == before


def test_the_rules_of_clauses_are_those_of_the_registry() -> None:
    """The certificate has no rules of its own; each rule about a stream's shards belongs to a clause."""
    named = {rule.id for clause in CLAUSES for rule in clause.rules}
    assert named <= {rule.id for rule in RULES}
    assert {"unread-child", "child-before-parent", "skipped-at-start", "skipped-at-restart"} <= named


@given(st.lists(st.floats(0.0, 0.5), max_size=80), st.sets(st.integers(0, 79), max_size=12))
def test_the_recorder_the_rule_and_the_clause_measure_alike(pauses: list[float], renewed: set[int]) -> None:
    """What is recorded read by read is what ``find_burst`` finds in all the times, and so the clause.

    It is so however often the client has begun anew with another iterator.
    """
    times = list(accumulate(pauses))
    record = ShardRecord(1, 0, "input")
    for number, at in enumerate(times):
        if not number or number in renewed:
            record.begin(ReadingRun("LATEST", 1, None, at, at), at)
        record.runs[-1].note_read(1, at, at, False)
    burst = find_burst(times)
    busiest = [run.busiest for run in record.runs if run.busiest is not None]
    assert min(busiest, default=None) == (burst.seconds if burst else None)
    history = History("input", 0.0)
    history.exchanges = [Read(at, 0, "input", _PARENT) for at in times]
    (clause,) = (each for each in CLAUSES if each.id == "reads-within-limits")
    assert bool(clause.judge(history).findings) is (burst is not None)
