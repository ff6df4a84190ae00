"""Each stage is judged at its end: what a later start of the client repairs was broken."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rdss_sandbox.shapes.trace import Delivery, Disposition, Put, PutEntry, Read, Settlement
from sandbox.certify.clause import Role, judge_clause
from sandbox.certify.clauses import clauses
from sandbox.certify.history import (
    FinalShard,
    History,
    KeptRecord,
    Level,
    Life,
    OfferedMessage,
    ShardChange,
    StageEnd,
    Statement,
)

_CHILD = "shardId-000000000002"


def _history(*, life: int, impatient: bool = False) -> History:
    """A run of two starts: m-1 is sent in a stage that ends at 10 s, and the client of ``life`` gets it."""
    history = History("input", 0.0)
    history.lives = [Life(0, 0.0, 10.5, "SIGKILL"), Life(1, 11.0, 20.0, "SIGTERM")]
    history.stages = [(1.0, "split", Level.SILVER), (10.2, "killed while idle", Level.GOLD)]
    history.ends = [StageEnd(10.0, "split", 0, impatient), StageEnd(20.0, "killed while idle", 1)]
    history.sent = [OfferedMessage("m-1", "d", Level.SILVER, 2.0)]
    history.put_at = {(_CHILD, "1"): 2.0}
    history.shards = [FinalShard(_CHILD, ("shardId-000000000000",), (("1", "m-1"),))]
    history.reshards = [ShardChange(1.5, "split", ("shardId-000000000000",), (_CHILD,), 3, Level.SILVER)]
    at = 3.0 if life == 0 else 12.0
    history.exchanges = [Read(at, life, "input", _CHILD, "i", (Delivery("1", "m-1"),))]
    history.told = [Statement("m-1", at, life)]
    return history


def _fails(history: History, clause: str, role: Role, channel: str = "kinesis") -> bool:
    found = next(each for each in clauses(role, channel=channel) if each.id == clause)
    return bool(judge_clause(found, history).findings)


@pytest.mark.parametrize("clause", ["every-shard-read", "nothing-lost"])
@pytest.mark.parametrize(
    ("life", "impatient", "fails"), [(0, False, False), (1, False, True), (1, True, False)]
)
def test_a_restart_heals_no_consumer(clause: str, life: int, *, impatient: bool, fails: bool) -> None:
    """A child shard that only the next start reads was not read, unless the stage was cut."""
    assert _fails(_history(life=life, impatient=impatient), clause, Role.CONSUMER) is fails


@pytest.mark.parametrize(
    ("clause", "error"),
    [
        ("survives-throttling", "ProvisionedThroughputExceededException"),
        ("survives-errors", "InternalFailure"),
        ("survives-expired-iterators", "ExpiredIteratorException"),
    ],
)
@pytest.mark.parametrize("life", [0, 1])
def test_a_shard_that_is_given_up_until_a_restart_was_given_up(clause: str, error: str, life: int) -> None:
    """After a failed read the same start has to read on."""
    history = _history(life=life)
    history.exchanges.insert(0, Read(2.5, 0, "input", _CHILD, "old", error=error))
    assert _fails(history, clause, Role.CONSUMER) is (life == 1)


def _kept(history: History, life: int) -> None:
    history.shards = [FinalShard("input", (), (("1", "m-1"),))]
    history.put_at = {("input", "1"): 2.0}
    read = Read(3.0, 0, "input", "input", "", (Delivery("1", "m-1"),), pushed=True, owed=True)
    again = Read(12.0, 1, "input", "input", "", (Delivery("1", "m-1"),), pushed=True, owed=True)
    settled = Settlement(3.5 if life == 0 else 12.5, life, "input", Disposition.ACK, (Delivery("1", "m-1"),))
    history.exchanges = [read, settled] if life == 0 else [read, again, settled]
    history.told = [Statement("m-1", 3.2, 0)]


def _poisoned(history: History, life: int) -> None:
    _kept(history, life)
    history.poison = ["1"]
    settled = history.exchanges[-1]
    assert isinstance(settled, Settlement)
    discarded = Settlement(settled.at, life, "input", Disposition.DISCARD, settled.records)
    history.exchanges[-1] = discarded


@pytest.mark.parametrize(
    ("clause", "change"), [("acks-all-that-it-processed", _kept), ("dead-letters-poison", _poisoned)]
)
@pytest.mark.parametrize("life", [0, 1])
def test_what_is_kept_until_a_restart_was_not_settled(
    clause: str, change: Callable[[History, int], None], life: int
) -> None:
    """A delivery that its start keeps to the end of the stage, and for ever, was not settled."""
    history = _history(life=life)
    change(history, life)
    assert _fails(history, clause, Role.CONSUMER, "rabbitmq") is (life == 1)


@pytest.mark.parametrize(
    ("clause", "channel", "error"),
    [
        ("survives-throttling", "kinesis", "ProvisionedThroughputExceededException"),
        ("survives-errors", "kinesis", "InternalFailure"),
        ("publishes-again-what-was-nacked", "rabbitmq", "nack"),
        ("notices-returned-messages", "rabbitmq", "returned"),
        ("survives-errors", "rabbitmq", "541"),
        ("nothing-lost", "kinesis", "InternalFailure"),
    ],
)
@pytest.mark.parametrize("life", [0, 1])
def test_a_restart_heals_no_producer(clause: str, channel: str, error: str, life: int) -> None:
    """What was refused has to be put again before the producer says that its file is done."""
    history = _history(life=life)
    at = 4.0 if life == 0 else 12.0
    entry = PutEntry("m-1", "d", 10, "k")
    history.exchanges = [
        Put(3.0, 3.1, 0, "input", (entry,), error=error),
        Put(at, at, life, "input", (entry,)),
    ]
    history.told = [Statement("m-1", at + 0.1, life)]
    history.stored = [KeptRecord("m-1", b"{}", life)]
    assert _fails(history, clause, Role.PRODUCER, channel) is (life == 1)


def test_a_return_that_is_told_as_sent_is_a_breach_at_once() -> None:
    """It does not count that a later start publishes the message again."""
    history = _history(life=0)
    entry = PutEntry("m-1", "d", 10, "k")
    history.exchanges = [
        Put(3.0, 3.1, 0, "input", (entry,), error="returned"),
        Put(5.0, 5.1, 0, "input", (entry,)),
    ]
    history.stored = [KeptRecord("m-1", b"{}", 0)]
    history.told = [Statement("m-1", 5.2, 0)]
    assert not _fails(history, "notices-returned-messages", Role.PRODUCER, "rabbitmq")
    history.told = [Statement("m-1", 3.2, 0)]
    assert _fails(history, "notices-returned-messages", Role.PRODUCER, "rabbitmq")


def test_a_batch_that_is_told_in_one_line_is_one_unit() -> None:
    """A SIGKILL between line and commit makes the next start tell the whole batch again, and no more."""
    history = _history(life=0)
    history.sent = [OfferedMessage(f"m-{number}", "d", Level.GOLD, 2.0) for number in range(3)]
    batch = [Statement(f"m-{number}", 3.0, 0, None, 1) for number in range(3)]
    again = [Statement(f"m-{number}", 12.0, 1, None, 2) for number in range(3)]
    history.told = [*batch, *again]
    assert not _fails(history, "nothing-twice", Role.CONSUMER)
    history.told = [Statement(f"m-{number}", 3.0, 0, None, number + 1) for number in range(3)] + again
    assert _fails(history, "nothing-twice", Role.CONSUMER)


def test_nothing_passes_by_silence() -> None:
    """A client that tells of nothing is not judged: nothing is lost or repeated by what nobody hears."""
    history = _history(life=0)
    history.told = []
    history.exchanges = [
        Read(3.0 + at, 0, "input", _CHILD, "i", (Delivery(str(at), f"m-{at}"),)) for at in range(6)
    ]
    for clause in clauses(Role.CONSUMER):
        judgement = judge_clause(clause, history)
        assert (judgement.exposure, judgement.findings, judgement.reason) == (0, (), "nothing-told"), (
            clause.id
        )
