"""Clauses and rules that mean the same share one piece of code, and agree."""

from __future__ import annotations

from itertools import accumulate

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.diagnosis.rules import RULES
from emulator.diagnosis.rules.shards import find_burst
from emulator.diagnosis.shard_record import Run
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
from sandbox.certify.certificate import ClauseVerdict, judge_clauses
from sandbox.certify.clause import Role, judge_clause
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


@given(st.lists(st.floats(0.0, 0.5), max_size=80))
def test_the_recorder_the_rule_and_the_clause_measure_alike(pauses: list[float]) -> None:
    """What is recorded read by read is what ``find_burst`` finds in all the times, and so the clause."""
    times = list(accumulate(pauses))
    run = Run("LATEST", 1, None, 0.0, 0.0)
    for at in times:
        run.note_read(1, at, at, False)
    burst = find_burst(times)
    assert run.busiest == (burst.seconds if burst else None)
    history = History("input", 0.0)
    history.exchanges = [Read(at, 0, "input", _PARENT) for at in times]
    (clause,) = (each for each in CLAUSES if each.id == "reads-within-limits")
    assert bool(clause.judge(history).findings) is (burst is not None)
