"""The clock: real, frozen, advanced, faster."""

import asyncio
import threading

import pytest

from emulator.clock import LATEST, Clock
from rdss_sandbox.text.timestamps import timestamp

NOON = 1_790_000_000.0


def test_a_frozen_clock_stands_still_until_it_is_advanced() -> None:
    """Two readings of a frozen clock are equal, and advancing adds exactly what was asked for."""
    clock = Clock(frozen_at=NOON)

    first, second = clock.time(), clock.time()
    clock.advance(360)

    assert NOON == first == second
    assert NOON + 360 == clock.time()
    assert clock.state().frozen


def test_a_clock_refuses_to_run_backwards() -> None:
    """Negative steps and speeds are refused with the value in the message."""
    clock = Clock(frozen_at=NOON)

    with pytest.raises(ValueError, match="-1"):
        clock.advance(-1)
    with pytest.raises(ValueError, match="-2"):
        clock.run_at(-2)


def test_a_clock_goes_no_further_than_dates_do() -> None:
    """Beyond the year 9999 an advance is refused; however fast time runs, it stands still there."""
    clock = Clock(frozen_at=NOON)

    for seconds in (1e12, float("inf"), float("nan")):
        with pytest.raises(ValueError, match="year 9999"):
            clock.advance(seconds)
    clock.advance(LATEST - NOON)
    clock.run_at(1e9)

    assert clock.time() == LATEST
    assert clock.now().year == 9999


def test_a_real_clock_that_was_advanced_returns_to_real_time_without_losing_elapsed_time() -> None:
    """After ``resume_real_time`` the reading is the machine's again, while elapsed time kept growing."""
    clock = Clock()
    real = clock.time()
    clock.advance(3600)

    ahead, elapsed = clock.time(), clock.elapsed()
    clock.resume_real_time()

    assert ahead - real >= 3600
    assert abs(clock.time() - real) < 60
    assert clock.elapsed() >= elapsed
    assert clock.state().real


async def test_sleepers_wake_when_the_clock_is_advanced_past_them_and_not_before() -> None:
    """Ten minutes of sleep end when ten minutes were advanced, in two steps."""
    clock = Clock(frozen_at=NOON)
    sleeper = asyncio.create_task(clock.sleep(600))
    await asyncio.sleep(0)

    clock.advance(599)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    early = sleeper.done()
    clock.advance(1)
    await asyncio.wait_for(sleeper, 60)

    assert not early


async def test_a_faster_clock_shortens_a_wait() -> None:
    """An hour of sleep at 360,000 times the speed is over at once."""
    clock = Clock()
    clock.run_at(360_000)

    await asyncio.wait_for(clock.sleep(3600), 60)


def test_a_blocked_thread_wakes_when_the_clock_is_advanced() -> None:
    """A thread waiting on the clock goes on as soon as its time has come."""
    clock = Clock(frozen_at=NOON)
    outcome: list[bool] = []
    thread = threading.Thread(target=lambda: outcome.append(clock.wait(60)))
    thread.start()

    clock.advance(60)
    thread.join(60)

    assert outcome == [True]


def test_a_cancelled_wait_ends_early_and_says_so() -> None:
    """A waiter told to stop returns False without time passing."""
    clock = Clock(frozen_at=NOON)
    stop = threading.Event()
    outcome: list[bool] = []
    thread = threading.Thread(target=lambda: outcome.append(clock.wait(60, stop.is_set)))
    thread.start()

    stop.set()
    clock.nudge()
    thread.join(60)

    assert outcome == [False]
    assert NOON == clock.time()


def test_an_autojump_clock_spends_no_real_time_waiting() -> None:
    """Waiting a day moves the clock by a day, at once."""
    clock = Clock(frozen_at=NOON, autojump=True)

    assert clock.wait(86_400)

    assert NOON + 86_400 == clock.time()


def test_timestamps_are_rfc_3339_in_utc_with_milliseconds() -> None:
    """The form every message and event shows its time in."""
    assert timestamp(0.1239) == "1970-01-01T00:00:00.123Z"
