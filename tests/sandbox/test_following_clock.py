"""A clock of another process: it shows what the sandbox's clock shows, and waits as that one does."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from statistics import median

import pytest
from starlette.requests import Request

from emulator.assembly.embedded import Embedded, embedded
from emulator.clock import Clock, stopwatch
from emulator.listeners.control.endpoint_routing import handles
from emulator.listeners.control.live_answers import wants_live
from emulator.listeners.control.sandbox_state import StateResources
from emulator.settings.settings import Settings
from rdss_sandbox.api.sandbox_state import SandboxState
from rdss_sandbox.client import Client, UnreachableError
from rdss_sandbox.shapes.clock import ClockChange, ClockReading
from sandbox.following_clock import FollowingClock
from tests.rdss_sandbox.test_client import free_port

SOON = 0.05
"""Seconds within which a jump is followed."""
MACHINE = Clock()


@pytest.fixture
def sandbox() -> Iterator[Embedded]:
    with embedded(Settings(aws_port=0, control_port=0, data_dir=None)) as emulator:
        yield emulator


@pytest.fixture
def control(sandbox: Embedded) -> Iterator[Client]:
    with Client(sandbox.control) as client:
        yield client


@pytest.fixture
def following(sandbox: Embedded) -> Iterator[FollowingClock]:
    with FollowingClock(sandbox.control) as clock:
        yield clock


def seconds_until(true: Callable[[], bool]) -> float:
    """How long it takes for something to be true; a minute at most, on any machine."""
    began = stopwatch()
    while not true():
        assert stopwatch() - began < 60, "it did not become true within a minute"
        MACHINE.wait(0.001)
    return stopwatch() - began


def test_jumps_are_followed_within_fifty_milliseconds(control: Client, following: FollowingClock) -> None:
    """Of eleven jumps the median is seen in less, from when the sandbox said that it had jumped."""
    took = []
    for _ in range(11):
        there = control.change_clock(ClockChange("advance", seconds=3600)).time
        took.append(seconds_until(lambda there=there: following.time() >= there))

    assert median(took) < SOON


def test_every_change_is_followed(sandbox: Embedded, control: Client, following: FollowingClock) -> None:
    """Advanced, frozen, at a pace and back to real time, both clocks show the same."""
    real = following.time()
    assert abs(real - sandbox.components.clock.time()) < 1

    control.change_clock(ClockChange("advance", seconds=90_000))
    seconds_until(lambda: following.time() - real >= 90_000)
    frozen = control.change_clock(ClockChange("freeze")).time
    seconds_until(lambda: following.state().frozen)
    assert following.time() == frozen

    control.change_clock(ClockChange("speed", speed=1000))
    seconds_until(lambda: following.state().speed == 1000)
    assert following.time() - frozen < 60_000

    control.change_clock(ClockChange("real"))
    seconds_until(lambda: following.state().real)
    assert abs(following.time() - MACHINE.time()) < 1


def test_a_wait_under_way_is_over_when_the_sandbox_jumps(control: Client, following: FollowingClock) -> None:
    """A process that waits for a day on a clock that stands still waits no longer than that."""
    control.change_clock(ClockChange("freeze"))
    seconds_until(lambda: following.state().frozen)
    waiter = threading.Thread(target=following.wait, args=(86_400,))
    waiter.start()

    control.change_clock(ClockChange("advance", seconds=86_000))
    MACHINE.wait(0.2)
    assert waiter.is_alive()
    control.change_clock(ClockChange("advance", seconds=401))
    waiter.join(60)
    assert not waiter.is_alive()


def test_nobody_asks_in_a_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty jumps and half a second without any cost two requests: a first reading, and the live answer."""
    asked: list[bool] = []
    clock = StateResources.clock

    @handles(SandboxState.clock)
    async def counted(resources: StateResources, request: Request) -> ClockReading:
        asked.append(wants_live(request))
        return await clock(resources, request)

    monkeypatch.setattr(StateResources, "clock", counted)
    with (
        embedded(Settings(aws_port=0, control_port=0, data_dir=None)) as sandbox,
        Client(sandbox.control) as control,
        FollowingClock(sandbox.control) as following,
    ):
        jump = ClockChange("advance", seconds=60)
        there = [control.change_clock(jump).time for _ in range(20)][-1]
        seconds_until(lambda: following.time() >= there)
        MACHINE.wait(0.5)

    assert asked == [False, True]


def test_a_sandbox_that_is_gone_leaves_a_clock_that_runs() -> None:
    """It goes on from where it stood, so that nobody waits for ever; it begins anew with the next sandbox."""
    port = free_port()
    settings = Settings(aws_port=0, control_port=port, data_dir=None)
    with embedded(settings) as sandbox, Client(sandbox.control) as control:
        following = FollowingClock(sandbox.control)
        control.change_clock(ClockChange("advance", seconds=7200))
        stood = control.change_clock(ClockChange("freeze")).time
        seconds_until(lambda: following.state().frozen and following.time() == stood)
    seconds_until(lambda: following.state().speed == 1)
    elapsed = following.elapsed()
    seconds_until(lambda: following.time() > stood)

    with embedded(settings):
        seconds_until(lambda: following.time() < stood - 3600)
        assert following.elapsed() >= elapsed
    following.close()


def test_without_a_sandbox_there_is_nothing_to_follow() -> None:
    """Said at once, with the address."""
    url = f"http://127.0.0.1:{free_port()}"
    with pytest.raises(UnreachableError, match=url):
        FollowingClock(url)
