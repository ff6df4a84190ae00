"""Calls at their times: in order, once, by a clock that is advanced, frozen or set to another speed."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from emulator.clock import Clock
from emulator.scheduler import Scheduler, Task

PATIENCE = 60.0


class Bed:
    """A frozen clock, and a scheduler on it whose calls are waited for."""

    def __init__(self) -> None:
        self.clock = Clock(frozen_at=1_790_000_000.0)
        self.made: queue.Queue[str] = queue.Queue()
        self.errors: list[Exception] = []
        self.scheduler = Scheduler(self.clock, "test", self.errors.append)

    def note(self, word: str) -> Callable[[], None]:
        return lambda: self.made.put(word)

    def next(self) -> str:
        return self.made.get(timeout=PATIENCE)

    def settled(self) -> list[str]:
        """All calls that are made by now."""
        self.scheduler.settle()
        found = []
        while not self.made.empty():
            found.append(self.made.get())
        return found


@pytest.fixture
def bed() -> Iterator[Bed]:
    bed = Bed()
    with closing(bed.scheduler):
        yield bed


def test_a_jump_makes_the_calls_it_passed_in_the_order_of_their_times(bed: Bed) -> None:
    """The clock is advanced over four calls, two of one time; the thread makes them without being asked."""
    for seconds, word in ((30, "late"), (10, "first"), (20, "second"), (20, "third")):
        bed.scheduler.later(seconds, bed.note(word))
    bed.clock.advance(29)
    assert [bed.next(), bed.next(), bed.next()] == ["first", "second", "third"]
    assert bed.settled() == []
    bed.clock.advance(1)
    assert bed.next() == "late"


def test_a_clock_that_runs_fast_makes_calls_soon(bed: Bed) -> None:
    """A call a day away is made within real seconds when the clock is thawed and runs fast."""
    bed.scheduler.later(86_400, bed.note("tomorrow"))
    bed.clock.run_at(1_000_000)
    assert bed.next() == "tomorrow"


def test_a_call_that_is_planned_for_sooner_than_the_next_one_is_not_kept_waiting(bed: Bed) -> None:
    """The thread waits for a call in a year, in real time; one for now is made at once."""
    bed.clock.run_at(1.0)
    bed.scheduler.later(31_536_000, bed.note("in a year"))
    bed.scheduler.later(0.0, bed.note("now"))
    assert bed.next() == "now"


def test_a_call_in_very_many_years_does_not_end_the_thread(bed: Bed) -> None:
    """A wait longer than the machine can wait is still a wait."""
    bed.clock.run_at(1.0)
    bed.scheduler.later(1e12, bed.note("never"))
    bed.scheduler.later(0.01, bed.note("soon"))
    assert bed.next() == "soon"
    bed.scheduler.later(0.01, bed.note("again"))
    assert bed.next() == "again"
    assert not bed.errors


def test_returning_to_real_time_neither_repeats_nor_delays_a_call(bed: Bed) -> None:
    """The reading jumps back by years when the clock returns to real time; calls go by what has elapsed."""
    bed.clock.advance(1e8)
    bed.scheduler.later(60, bed.note("in a minute"))
    bed.clock.resume_real_time()
    assert bed.settled() == []
    bed.clock.advance(60)
    assert bed.next() == "in a minute"
    assert bed.settled() == []


def test_a_jump_over_many_periods_is_one_call(bed: Bed) -> None:
    """What is done every ten seconds is done once after a minute's jump, and again ten seconds later."""
    bed.scheduler.every(10, bed.note("tick"))
    assert bed.settled() == []
    bed.clock.advance(60)
    assert bed.next() == "tick"
    assert bed.settled() == []
    bed.clock.advance(10)
    assert bed.next() == "tick"


def test_time_that_passes_during_a_periodic_call_counts(bed: Bed) -> None:
    """The clock jumps while a call is in progress: the next one is due when it ends."""
    went_on = threading.Event()

    def call() -> None:
        bed.made.put("began")
        assert went_on.wait(PATIENCE)

    bed.scheduler.every(10, call)
    bed.clock.advance(10)
    assert bed.next() == "began"
    bed.clock.advance(10)
    went_on.set()
    assert bed.next() == "began"


def test_a_call_that_fails_is_told_of_and_the_others_go_on(bed: Bed) -> None:
    """A call that raises is reported; one that repeats is made again, and others at their times."""

    def fail() -> None:
        raise OSError("no space left on device")

    bed.scheduler.every(10, fail)
    bed.scheduler.later(15, bed.note("after"))
    bed.clock.advance(15)
    assert bed.next() == "after"
    bed.clock.advance(10)
    bed.scheduler.settle()
    assert [str(error) for error in bed.errors] == ["no space left on device"] * 2


def test_a_step_says_when_it_is_made_again(bed: Bed) -> None:
    """A followed step is made at once, after the seconds it gave, and when it is woken."""
    pauses: list[float | None] = [5.0, None, 100.0]

    def step() -> float | None:
        bed.made.put(f"{bed.clock.elapsed():.0f}")
        return pauses.pop(0)

    began = bed.clock.elapsed()
    task = bed.scheduler.follow(step)
    assert bed.next() == f"{began:.0f}"
    bed.clock.advance(5)
    assert bed.next() == f"{began + 5:.0f}"
    bed.clock.advance(1000)
    assert bed.settled() == []
    bed.scheduler.wake(task)
    assert bed.next() == f"{began + 1005:.0f}"


def test_a_wake_during_the_call_is_not_lost(bed: Bed) -> None:
    """A step is woken while it runs, and then asks for a long pause: it is made again all the same."""
    reached, went_on = threading.Event(), threading.Event()

    def step() -> float:
        bed.made.put("step")
        reached.set()
        assert went_on.wait(PATIENCE)
        return 1000.0

    task = bed.scheduler.follow(step)
    assert reached.wait(PATIENCE)
    bed.scheduler.wake(task)
    went_on.set()
    assert [bed.next(), bed.next()] == ["step", "step"]


def test_settling_waits_for_a_call_in_progress(bed: Bed) -> None:
    """What is settled is over: a call that the thread has begun is waited for."""
    reached, went_on = threading.Event(), threading.Event()

    def call() -> None:
        reached.set()
        assert went_on.wait(PATIENCE)
        bed.made.put("done")

    bed.scheduler.later(0.0, call)
    assert reached.wait(PATIENCE)
    threading.Timer(0.05, went_on.set).start()
    assert bed.settled() == ["done"]


def test_nothing_is_made_after_the_close(bed: Bed) -> None:
    """Closing drops what is planned, but for what is asked for by name."""
    dropped, wanted = (bed.scheduler.later(10, bed.note(word)) for word in ("dropped", "wanted"))
    bed.scheduler.close()
    bed.clock.advance(20)
    assert bed.settled() == []
    bed.scheduler.run_now(wanted)
    bed.scheduler.cancel(dropped)
    bed.scheduler.run_now(dropped)
    assert bed.settled() == ["wanted"]


class AgainstAModel(RuleBasedStateMachine):
    """A scheduler on a frozen clock makes the calls that a sorted list says, in its order."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock(frozen_at=0.0)
        self.scheduler = Scheduler(self.clock, "model", self.fail)
        self.made: list[int] = []
        self.expected: list[int] = []
        self.now = 0
        self.number = 0
        self.pending: dict[int, tuple[int, int]] = {}
        self.tasks: dict[int, Task] = {}

    def fail(self, error: Exception) -> None:
        raise error

    @rule(seconds=st.integers(0, 20))
    def later(self, seconds: int) -> None:
        number = self.number = self.number + 1
        self.pending[number] = (self.now + seconds, number)
        self.tasks[number] = self.scheduler.later(seconds, lambda: self.made.append(number))

    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        if self.tasks:
            number = data.draw(st.sampled_from(sorted(self.tasks)))
            self._settle()
            self.pending.pop(number, None)
            self.scheduler.cancel(self.tasks[number])

    @rule(data=st.data())
    def run_now(self, data: st.DataObject) -> None:
        if self.tasks:
            number = data.draw(st.sampled_from(sorted(self.tasks)))
            self._settle()
            if self.pending.pop(number, None) is not None:
                self.expected.append(number)
            self.scheduler.run_now(self.tasks[number])

    @rule(seconds=st.integers(0, 30))
    def jump(self, seconds: int) -> None:
        self.clock.advance(seconds)
        self.now += seconds

    @invariant()
    def makes_what_the_model_makes(self) -> None:
        self._settle()
        assert self.made == self.expected

    def _settle(self) -> None:
        self.scheduler.settle()
        due = sorted((when, number) for when, number in self.pending.values() if when <= self.now)
        for _, number in due:
            del self.pending[number]
            self.expected.append(number)

    def teardown(self) -> None:
        self.scheduler.close()


TestAgainstAModel = AgainstAModel.TestCase
TestAgainstAModel.settings = settings(max_examples=50, stateful_step_count=30, deadline=None)
