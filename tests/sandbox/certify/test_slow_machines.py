"""Verdicts do not depend on the machine's speed: what a slow machine does is waited for, or excused."""

from __future__ import annotations

import asyncio

import pytest

from emulator.rng import Chance
from rdss_sandbox.shapes.trace import Delivery, Put, PutEntry, Read, Subscription, TraceItem
from sandbox.certify import silence
from sandbox.certify.clause import Role
from sandbox.certify.clauses import clauses
from sandbox.certify.gate import Gate
from sandbox.certify.history import FinalShard, History, Level, Life, OfferedMessage, Statement
from sandbox.certify.silence import Silence

_PATIENCE = 4.0
_SHARD = "shardId-000000000000"


class _Time:
    """The stopwatch of the silence, which a test sets."""

    now = 100.0


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> _Time:
    time = _Time()
    monkeypatch.setattr(silence, "stopwatch", lambda: time.now)
    return time


def _history() -> History:
    history = History("input", 0.0)
    history.lives = [Life(0, 0.0)]
    return history


def _read(*ids: str, life: int = 0, error: str = "") -> Read:
    records = tuple(Delivery(each, each) for each in ids)
    return Read(1.0, life, "input", _SHARD, "i", records, error=error)


def test_a_slow_start_is_no_silence(time: _Time) -> None:
    """A client that has made no request yet is waited for five times as long as its patience."""
    found = Silence(_history(), _PATIENCE)
    found.begin()
    time.now += 4.9 * _PATIENCE
    assert not found.lasts()
    time.now += 0.2 * _PATIENCE
    assert found.lasts()


def test_each_start_may_be_slow(time: _Time) -> None:
    """What a start before asked for says nothing of the present one."""
    history = _history()
    found = Silence(history, _PATIENCE)
    found.begin()
    history.exchanges += [_read()] * 3
    history.lives.append(Life(1, 3.0))
    assert not found.lasts()
    time.now += 4 * _PATIENCE
    assert not found.lasts()


def test_a_client_is_silent_when_it_asks_in_vain(time: _Time) -> None:
    """Time alone is no silence: the client must have asked three times and got nothing since."""
    history = _history()
    found = Silence(history, _PATIENCE)
    found.begin()
    history.exchanges.append(_read("m-1"))
    assert not found.lasts()
    time.now += 2 * _PATIENCE
    history.exchanges += [_read(), _read()]
    assert not found.lasts()
    history.exchanges.append(_read())
    assert found.lasts()
    history.told.append(Statement("m-1", 2.0, 0))
    assert not found.lasts()


@pytest.mark.parametrize(
    ("refused", "taken"),
    [
        (_read(error="InternalFailure"), _read()),
        (Put(1.0, 1.0, 0, "input", (), error="InternalFailure"), Put(1.0, 1.0, 0, "input", ())),
        (Put(1.0, 1.0, 0, "input", (PutEntry("m", "", 1, "", "Throttled"),)), Put(1.0, 1.0, 0, "input", ())),
    ],
)
def test_who_was_refused_may_pause(time: _Time, refused: TraceItem, taken: TraceItem) -> None:
    """A refusal is no silence: a client may pause for three patiences before it tries again."""
    history = _history()
    found = Silence(history, _PATIENCE)
    found.begin()
    history.exchanges += [*[_read()] * 3, refused]
    assert not found.lasts(reads=isinstance(refused, Read))
    time.now += 2.9 * _PATIENCE
    assert not found.lasts(reads=isinstance(refused, Read))
    history.exchanges.append(taken)
    assert found.lasts(reads=isinstance(refused, Read))


def test_a_client_that_repeats_itself_becomes_silent(time: _Time) -> None:
    """A message that is delivered and told without end is no news for ever."""
    history = _history()
    found = Silence(history, _PATIENCE)
    found.begin()
    for _ in range(100):
        history.exchanges.append(_read("m-1"))
        history.told.append(Statement("m-1", 2.0, 0))
        time.now += 1.0
        if found.lasts():
            return
    pytest.fail("it was waited for without end")


def test_nobody_is_waited_for_without_end(time: _Time) -> None:
    """A consumer that breaks over the same delivery and connects again for ever is silent in the end."""
    history = _history()
    found = Silence(history, _PATIENCE)
    found.begin()
    for turn in range(30):
        history.exchanges.append(Subscription(1.0, 0, "input", 10))
        history.exchanges.append(Read(1.0, 0, "input", "input", "", (Delivery("7", None),), owed=True))
        time.now += 1.25 * _PATIENCE
        if found.lasts():
            assert turn < 12
            return
    pytest.fail("it was waited for without end")


def test_who_waits_for_leases_is_waited_for(time: _Time) -> None:
    """A client that reads one shard in vain, and waits for the lease of another, has five patiences."""
    history = _history()
    found = Silence(history, _PATIENCE)
    found.begin()
    history.exchanges += [_read()] * 4
    time.now += 2 * _PATIENCE
    assert not found.lasts(leases=True)
    assert found.lasts()
    time.now += 3.1 * _PATIENCE
    assert found.lasts(leases=True)


def test_a_client_rests_when_it_asks_again() -> None:
    """A client has a message in hand until it asks for more in the shard where it got it."""
    history = _history()
    found = Silence(history, _PATIENCE)
    assert not found.rests()
    history.exchanges.append(_read("m-1"))
    assert not found.rests()
    history.exchanges.append(_read())
    assert found.rests()


def test_the_gate_holds_a_read_until_it_opens() -> None:
    """A call that comes at a closed place waits; one elsewhere passes."""
    arrived = asyncio.Event()
    gate = Gate(arrived.set)
    gate.close([_SHARD])
    order: list[str] = []

    async def pass_through(place: str) -> None:
        await gate.pass_through(place)
        order.append(place)

    async def run() -> None:
        held = asyncio.create_task(pass_through(_SHARD))
        await pass_through("another")
        await arrived.wait()
        assert gate.holds([_SHARD])
        order.append("opened")
        gate.open()
        await held

    asyncio.run(run())
    assert order == ["another", "opened", _SHARD]
    assert not gate.holds([_SHARD])


def _told_twice(lives: list[Life], tellings: list[tuple[str, int]], twice: str = "") -> dict[str, int]:
    """The number of findings of the clauses on repeats, by clause; the messages ``twice`` were sent twice."""
    history = _history()
    history.shards = [FinalShard(_SHARD, (), tuple((str(at), name) for at, name in enumerate(twice * 2)))]
    history.lives = lives
    history.stages = [(0.0, "killed after telling", Level.GOLD)]
    history.sent = [
        OfferedMessage(each, "", Level.GOLD, 0.0) for each in sorted({name for name, _ in tellings})
    ]
    history.told = [Statement(name, float(at), life) for at, (name, life) in enumerate(tellings)]
    wanted = ("nothing-twice", "resumes-after-a-kill")
    judges = {each.id: each.judge for each in clauses(Role.CONSUMER) if each.id in wanted}
    return {name: len(judge(history).findings) for name, judge in judges.items()}


def test_the_message_in_hand_is_excused_whenever_it_comes_back() -> None:
    """Two kills in a row leave two messages in hand, and the start behind them may tell both again."""
    lives = [Life(0, 0.0, 1.0, "SIGKILL"), Life(1, 1.0, 2.0, "SIGKILL"), Life(2, 2.0, 9.0, "SIGTERM")]
    clean = {"nothing-twice": 0, "resumes-after-a-kill": 0}
    assert _told_twice(lives, [("a", 0), ("b", 1), ("a", 2), ("b", 2)]) == clean
    breach = _told_twice(lives, [("a", 0), ("c", 0), ("b", 1), ("a", 2), ("b", 2), ("c", 2)])
    assert breach == {"nothing-twice": 1, "resumes-after-a-kill": 1}


def test_one_message_is_excused_for_each_kill() -> None:
    """A client that tells all of its messages again after a kill is not excused."""
    lives = [Life(0, 0.0, 1.0, "SIGKILL"), Life(1, 1.0, 9.0, "SIGTERM")]
    found = _told_twice(lives, [("a", 0), ("b", 0), ("a", 1), ("b", 1), ("a", 1)])
    assert found == {"nothing-twice": 2, "resumes-after-a-kill": 1}


def test_what_the_kit_sent_twice_is_not_told_again_for_the_kill() -> None:
    """A client without a memory that goes on from its checkpoint fails the clause on duplicates alone."""
    lives = [Life(0, 0.0, 1.0, "SIGKILL"), Life(1, 1.0, 9.0, "SIGTERM")]
    found = _told_twice(lives, [("a", 0), ("b", 0), ("a", 1), ("b", 1)], twice="ab")
    assert found == {"nothing-twice": 1, "resumes-after-a-kill": 0}


@pytest.mark.parametrize(("records", "exposure", "failed"), [(("m-1",), 1, True), ((), 0, False)])
def test_a_read_cut_off_by_the_end_is_no_breach(
    records: tuple[str, ...], exposure: int, failed: bool
) -> None:
    """A shard that is not read again after a failure is a breach only where it held something."""
    history = _history()
    history.stages = [(0.0, "errors", Level.SILVER)]
    history.shards = [FinalShard(_SHARD, (), tuple((each, each) for each in records))]
    history.exchanges = [_read(error="disconnect")]
    (clause,) = [each for each in clauses(Role.CONSUMER) if each.id == "survives-errors"]
    found = clause.judge(history)
    assert (found.exposure, bool(found.findings)) == (exposure, failed)


@pytest.mark.parametrize(
    ("pauses", "failed"),
    [
        ([(0.2, 0.4, 0.8), (1.9, 0.4, 0.8)], False),
        ([(0.2, 0.4, 0.8), (0.1, 0.4, 0.8)], True),
        ([(1.9, 0.4, 0.8), (1.9, 0.4, 0.8)], True),
    ],
)
def test_a_pause_that_the_machine_made_longer_is_no_breach(
    pauses: list[tuple[float, ...]], failed: bool
) -> None:
    """A pause is too long when it always is; it is too short when it is so once."""
    history = _refused_with(pauses)
    (clause,) = [each for each in clauses(Role.PRODUCER) if each.id == "back-off-as-specified"]
    assert bool(clause.judge(history).findings) is failed


def test_random_pauses_that_grow_on_the_average_are_no_breach() -> None:
    """SDKs draw a pause between nothing and a bound that doubles: of 2,000 such clients two are accused."""
    chance, accused = Chance(1).draws("pauses"), 0
    (clause,) = [each for each in clauses(Role.PRODUCER) if each.id == "backs-off"]
    for _ in range(2_000):
        pauses = [tuple(chance.uniform(0, 1) * 2**number for number in range(tries)) for tries in (4, 3, 3)]
        accused += bool(clause.judge(_refused_with(pauses)).findings)
    assert accused <= 2
    steady = [tuple(0.1 + chance.uniform(0, 1) / 100 for _ in range(tries)) for tries in (4, 3, 3)]
    assert clause.judge(_refused_with(steady)).findings


def _refused_with(pauses: list[tuple[float, ...]]) -> History:
    """Messages that are refused until they were tried after each of their pauses."""
    history = _history()
    at = 0.0
    for number, each in enumerate(pauses):
        for pause in (0.0, *each):
            entry = PutEntry(f"m-{number}", "d", 10, "k", "ProvisionedThroughputExceededException")
            history.exchanges.append(Put(at + pause, at + pause, 0, "input", (entry,), batch=True))
            at += pause
    return history
