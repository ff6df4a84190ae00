"""Simulated systems that answer by a script, or as the fault engine has it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from emulator.clock import Clock
from emulator.faults.fault_engine import FaultEngine
from emulator.rng import Chance
from extensions.processing import (
    BusinessError,
    Exchange,
    SimulatedSystem,
    SimulatedSystems,
    State,
    TechnicalError,
)
from extensions.processing.simulated_systems import ScriptedAnswer, read_answer
from rdss_sandbox.shapes.faults import NewFault
from tests.extensions.processing.processing_platform import START, Platform, message_of


@pytest.fixture
def fault_engine(platform: Platform) -> Iterator[FaultEngine]:
    fault_engine = FaultEngine(Chance(5), platform.clock, platform.events)
    yield fault_engine
    fault_engine.close()


def test_a_script_is_answered_in_order_and_then_everything_is_well(platform: Platform) -> None:
    """An entry a call; what it answers, and what it was asked."""
    system = SimulatedSystem("crm", platform.clock, script=["ok: 5", "business: there already", "500"])
    assert system.call(b"1") == b"5"
    with pytest.raises(BusinessError, match="there already"):
        system.call(b"2")
    with pytest.raises(TechnicalError, match="crm answered 500"):
        system.call(b"3")
    assert system.call(b"4") == b""
    assert system.received == [b"1", b"2", b"4"]


def test_slow_and_silent_systems_take_their_time() -> None:
    """On the clock: a slow one answers in the end, one that is timed out never does."""
    clock = Clock(frozen_at=START, autojump=True)
    system = SimulatedSystem("crm", clock, script=["slow 2s", "timeout 30s"])
    system.call(b"")
    assert clock.time() == START + 2
    with pytest.raises(TimeoutError, match="did not answer in 30 s"):
        system.call(b"")
    assert clock.time() == START + 32


def test_a_system_is_down_for_a_minute_of_the_clock(platform: Platform) -> None:
    """From the call that finds it down, and for all until then."""
    system = SimulatedSystem("crm", platform.clock, script=["down 1m", "ok: up"])
    for _ in range(3):
        with pytest.raises(TechnicalError, match="crm is down"):
            system.call(b"")
        platform.clock.advance(20)
    assert system.call(b"") == b"up"


@pytest.mark.parametrize(
    ("written", "answer"),
    [
        ("ok", ScriptedAnswer("ok")),
        (" ok : yes: both ", ScriptedAnswer("ok", "yes: both")),
        ("business", ScriptedAnswer("business")),
        ("503", ScriptedAnswer("error", "503")),
        ("timeout", ScriptedAnswer("timeout", seconds=30)),
        ("slow 200ms", ScriptedAnswer("slow", seconds=0.2)),
        ("down 1m", ScriptedAnswer("down", seconds=60)),
    ],
)
def test_answers_are_read_as_people_write_them(written: str, answer: ScriptedAnswer) -> None:
    """Lengths of time as everywhere in the sandbox."""
    assert read_answer(written) == answer


@pytest.mark.parametrize("written", ["", "404", "slow", "down", "slow soon", "nothing"])
def test_what_is_no_answer_is_refused(platform: Platform, written: str) -> None:
    """With what can be written; the script stays what it was."""
    system = SimulatedSystem("crm", platform.clock, script=["500"])
    with pytest.raises(ValueError, match="is no"):
        system.script(["ok", written])
    with pytest.raises(TechnicalError):
        system.call(b"")


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (NewFault("error", channel="outside/crm"), "crm failed: InternalFailure"),
        (NewFault("disconnect", channel="outside/*"), "crm failed: Disconnected"),
        (NewFault("throttle", channel="outside/crm"), "crm failed: ProvisionedThroughputExceeded"),
    ],
)
def test_faults_strike_outside_systems(
    platform: Platform, fault_engine: FaultEngine, fault: NewFault, says: str
) -> None:
    """By the name of the channel; the system never hears of the call."""
    crm, erp = (SimulatedSystem(name, platform.clock, fault_engine) for name in ("crm", "erp"))
    fault_engine.add(fault)
    with pytest.raises(TechnicalError, match=says):
        crm.call(b"")
    assert crm.received == []
    if fault.channel != "outside/*":
        assert erp.call(b"") == b""


def test_a_fault_can_lose_the_answer_of_a_call_that_was_made(
    platform: Platform, fault_engine: FaultEngine
) -> None:
    """Nobody can know: the message is tried again, and the system called again."""
    platform.outside.systems["crm"] = crm = SimulatedSystem("crm", platform.clock, fault_engine)
    process = platform.open()
    platform.routes.add("customer", "set", lambda exchange: exchange.call("crm", b"once") and None)
    fault_engine.add(NewFault("disconnect", channel="outside/crm", attributes={"written": True}, limit=1))
    number = platform.send(process)
    process.drain()
    platform.retry(process)
    assert message_of(process, number).state is State.OK
    assert crm.received == [b"once", b"once"]


def test_a_fault_can_have_a_system_down_for_a_minute(platform: Platform, fault_engine: FaultEngine) -> None:
    """As ``sandbox fault add error --for 1m`` does; the message ends well after it."""
    platform.outside.systems["crm"] = SimulatedSystem("crm", platform.clock, fault_engine)
    process = platform.open()

    @platform.route("set")
    def call(exchange: Exchange) -> None:
        exchange.call("crm", exchange.body)

    fault_engine.add(NewFault("error", channel="outside/crm", when={"for": "90s"}))
    number = platform.send(process)
    process.drain()
    platform.retry(process)
    assert (message_of(process, number).state, message_of(process, number).failed) == (State.PARTLY_FAILED, 2)
    platform.retry(process)
    assert message_of(process, number).state is State.OK


def test_a_system_that_is_not_there_is_named() -> None:
    """With those that are."""
    clock = Clock(frozen_at=START)
    outside = SimulatedSystems([SimulatedSystem("crm", clock)])
    with pytest.raises(TechnicalError, match="no outside system 'erp'; there are crm"):
        outside("erp", b"")
