"""What is held back from a reader, without a transport: met once each, and handed over when it is due."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest

from emulator.clock import Clock
from emulator.events import Events
from emulator.faults.fault import Failure
from emulator.faults.fault_engine import FaultEngine
from emulator.faults.fault_point import CallFailedError, FaultPoint, run_blocking
from emulator.faults.faulted_message import Message
from emulator.faults.held_deliveries import Form, HeldDeliveries, PushedDeliveries
from emulator.faults.waits import OnLoop, OnThread
from emulator.rng import Chance
from rdss_sandbox.shapes.faults import NewFault

NOON = 1_790_000_000.0
FORM: Form[bytes] = Form(lambda _: "input", lambda data: Message(data, "k", NOON))


@pytest.fixture
def fault_engine() -> Iterator[FaultEngine]:
    """Its clock stands still until a test advances it."""
    clock = Clock(frozen_at=NOON)
    made = FaultEngine(Chance(1), clock, Events(clock, keep=1000))
    yield made
    made.close()


def point_of(fault_engine: FaultEngine) -> FaultPoint:
    clock = fault_engine._clock
    return FaultPoint(fault_engine, clock, "rabbitmq", OnLoop(clock))


class ByHand:
    """A scheduler whose calls a test makes."""

    def __init__(self) -> None:
        self.planned: list[tuple[float, Callable[[], None], Callable[[], bool]]] = []

    def later(
        self, seconds: float, action: Callable[[], None], at_once: Callable[[], bool]
    ) -> Callable[[], object]:
        plan = (seconds, action, at_once)
        self.planned.append(plan)
        return lambda: self.planned.remove(plan)

    def start(self, work: Coroutine[Any, Any, None]) -> Callable[[], object]:
        return asyncio.ensure_future(work).cancel


class Reader:
    """A reader to whom messages are pushed."""

    def __init__(self, fault_engine: FaultEngine) -> None:
        self.came: list[bytes] = []
        self.failures: list[Failure] = []
        self.room = True
        self.scheduler = ByHand()
        self.deliveries = PushedDeliveries(
            point_of(fault_engine),
            FORM,
            self.scheduler,
            hand_over=lambda due: self.came.append(due.data),
            fail=self.failures.append,
            room=lambda: self.room,
        )


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_two_reads_at_a_time_meet_each_record_once(fault_engine: FaultEngine) -> None:
    """The second waits for the first, and meets only what came since; all is delivered once, in order."""
    fault_engine.add(NewFault("latency", direction="deliver", attributes={"delay": 5}))
    held = HeldDeliveries(point_of(fault_engine), FORM)
    held.add([b"1"])
    first = asyncio.ensure_future(held.meet())
    await settle()
    held.add([b"2"])
    second = asyncio.ensure_future(held.meet())
    await settle()
    assert (len(held), held.take(9)) == (2, [])
    for reading in (first, second):
        fault_engine._clock.advance(5)
        await asyncio.wait_for(reading, 30)
    assert [due.data for due in held.take(9)] == [b"1", b"2"]
    assert fault_engine.get("latency").injected == 2


@pytest.mark.parametrize("end", ["refused", "cancelled"])
async def test_what_a_read_did_not_get_stays_for_the_next(fault_engine: FaultEngine, end: str) -> None:
    """In its order, and before what came meanwhile."""
    fault_engine.add(NewFault("latency", direction="deliver", attributes={"delay": 5}))
    if end == "refused":
        fault_engine.add(NewFault("error", direction="deliver", limit=1))
    held = HeldDeliveries(point_of(fault_engine), FORM)
    held.add([b"1", b"2"])
    reading = asyncio.ensure_future(held.meet())
    await settle()
    held.add([b"3"])
    reading.cancel()
    with pytest.raises(CallFailedError if end == "refused" else asyncio.CancelledError):
        await reading
    fault_engine.clear()
    await held.meet()
    assert [due.data for due in held.take(9)] == [b"1", b"2", b"3"]


async def test_what_is_given_up_during_a_read_is_not_held(fault_engine: FaultEngine) -> None:
    """As when a consumer is cancelled meanwhile."""
    fault_engine.add(NewFault("latency", direction="deliver", attributes={"delay": 5}))
    held = HeldDeliveries(point_of(fault_engine), FORM)
    held.add([b"1"])
    reading = asyncio.ensure_future(held.meet())
    await settle()
    assert [due.record for due in held.drop()] == [b"1"]
    fault_engine._clock.advance(5)
    await asyncio.wait_for(reading, 30)
    assert (len(held), held.take(9)) == (0, [])


def test_a_delayed_message_is_handed_over_at_its_time(fault_engine: FaultEngine) -> None:
    """With those behind it; a reader that is pushed to waits for each as long as it is late, not for all."""
    fault_engine.add(NewFault("latency", direction="deliver", attributes={"delay": 5}))
    reader = Reader(fault_engine)
    for data in (b"1", b"2"):
        reader.deliveries.arrive(data)
    ((seconds, look, at_once),) = reader.scheduler.planned
    assert (seconds, at_once(), reader.came) == (5, False, [])
    fault_engine._clock.advance(5)
    assert at_once()
    look()
    assert reader.came == [b"1", b"2"]
    assert len(reader.deliveries) == 0


def test_a_removed_fault_makes_what_it_held_due_at_once(fault_engine: FaultEngine) -> None:
    fault_engine.add(NewFault("reorder", attributes={"distance": 3, "patience": 60}))
    reader = Reader(fault_engine)
    reader.deliveries.arrive(b"1")
    ((_, look, at_once),) = reader.scheduler.planned
    assert not at_once()
    fault_engine.clear()
    assert at_once()
    look()
    assert reader.came == [b"1"]


def test_nothing_is_handed_over_without_room(fault_engine: FaultEngine) -> None:
    """Nor is a time planned for it: the reader says when there is room again."""
    reader = Reader(fault_engine)
    reader.room = False
    reader.deliveries.arrive(b"1")
    assert (reader.came, reader.scheduler.planned, len(reader.deliveries)) == ([], [], 1)
    reader.room = True
    reader.deliveries.release()
    assert reader.came == [b"1"]


async def test_a_throttled_message_keeps_back_those_behind_it(fault_engine: FaultEngine) -> None:
    """It is met again after a while, and nothing overtakes it."""
    fault_engine.add(NewFault("throttle", direction="deliver", limit=2))
    reader = Reader(fault_engine)
    for data in (b"1", b"2"):
        reader.deliveries.arrive(data)
    assert reader.deliveries.throttled
    for _ in range(2):
        await settle()
        fault_engine._clock.advance(1)
    await settle()
    assert (reader.came, reader.deliveries.throttled) == ([b"1", b"2"], False)
    assert fault_engine.get("throttle").injected == 2


async def test_what_is_given_up_is_neither_met_nor_handed_over(fault_engine: FaultEngine) -> None:
    """The throttled, the unmet and the held; the reader can go on with what comes then."""
    fault_engine.add(NewFault("throttle", direction="deliver", when={"after": 1}))
    fault_engine.add(NewFault("reorder", attributes={"distance": 3, "patience": 60}, limit=1))
    reader = Reader(fault_engine)
    for data in (b"1", b"2", b"3"):
        reader.deliveries.arrive(data)
    assert sorted(due.record for due in reader.deliveries.drop()) == [b"1", b"2", b"3"]
    fault_engine.clear()
    await settle()
    assert (len(reader.deliveries), reader.scheduler.planned, reader.came) == (0, [], [])
    reader.deliveries.arrive(b"4")
    assert reader.came == [b"4"]


def test_a_failed_read_ends_the_reader(fault_engine: FaultEngine) -> None:
    """It hears of it once, and gets nothing more."""
    fault_engine.add(NewFault("disconnect", direction="deliver", limit=1))
    reader = Reader(fault_engine)
    for data in (b"1", b"2"):
        reader.deliveries.arrive(data)
    assert ([failure.kind for failure in reader.failures], reader.came) == (["cut"], [])


async def test_a_fault_that_went_before_the_wait_is_not_waited_for(fault_engine: FaultEngine) -> None:
    """Between the plan and the wait; the clock stands still, so nothing else would end it."""
    fault_engine.add(NewFault("throttle"))
    point = point_of(fault_engine)

    def plan() -> Any:
        return point.plan_publish("input", [Message(b"1")], single=True)

    call = plan()
    fault_engine.clear()
    passed = await asyncio.wait_for(point.wait_while_throttled(call, plan), 30)
    assert not passed.throttled


def test_a_publish_that_blocks_needs_no_event_loop(fault_engine: FaultEngine) -> None:
    """Puts what is left, then the copies; the last put counts, unless it was not taken."""
    clock = fault_engine._clock
    point = FaultPoint(fault_engine, clock, "memory", OnThread(clock))
    fault_engine.add(NewFault("partial_failure", when={"every": 3}))
    fault_engine.add(NewFault("duplicate", attributes={"copies": 2}, when={"first": 1}))
    puts: list[tuple[int, list[bytes]]] = []

    async def put(items: Any, turn: int) -> list[int]:
        puts.append((turn, [item.data for item in items]))
        return [turn] * len(items)

    call = point.plan_publish("input", [Message(b"%d" % number) for number in range(4)], single=False)
    outcomes = run_blocking(point.publish(call, put, lambda turn: turn < 2))
    assert puts == [(0, [b"0", b"1", b"3"]), (1, [b"0"]), (2, [b"0"])]
    assert [each if isinstance(each, int) else each.code for each in outcomes] == [1, 0, "InternalFailure", 0]


def test_work_that_needs_an_event_loop_is_refused_on_a_thread() -> None:
    async def wait() -> None:
        await asyncio.sleep(0)

    with pytest.raises(RuntimeError, match="waits on an event loop"):
        run_blocking(wait())
