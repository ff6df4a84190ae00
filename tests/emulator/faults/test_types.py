"""What single types of fault do, without a channel: distributions, growth, mutations, processes."""

from __future__ import annotations

import signal
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.channels.channel import Receipt
from emulator.channels.channel_faults import ChannelFaults
from emulator.clock import Clock
from emulator.events import Events
from emulator.faults.delayed_deliveries import DelayedDeliveries
from emulator.faults.fault import Hold, HoldTime, Item
from emulator.faults.fault_engine import FaultEngine
from emulator.faults.faulted_message import Message
from emulator.faults.registry import TYPES
from emulator.faults.targets import TargetProcess
from emulator.faults.types.latency import draw_seconds
from emulator.rng import Chance
from rdss_sandbox.shapes.faults import NewFault
from schemas.rdss.changes import grow
from schemas.rdss.envelope import serialise
from schemas.rdss.error_codes import ErrorCode
from schemas.rdss.samples import Samples
from schemas.rdss.validation import judge
from tests.waiting import wait_until

NOON = 1_790_000_000.0
DEFAULTS = {attribute.name: attribute.default for attribute in TYPES["latency"].attributes}


def delays(**attributes: Any) -> list[float]:
    return [draw_seconds(DEFAULTS | attributes, Chance(7).draws(str(n))) for n in range(4000)]


def test_delays_are_spread_as_told() -> None:
    """Middle and width of each distribution, none negative, none above the most."""
    assert set(delays(delay=0.3)) == {0.3}
    uniform = delays(distribution="uniform", delay=2.0, jitter=1.0)
    assert (round(min(uniform), 1), round(max(uniform), 1)) == (1.0, 3.0)
    normal = delays(distribution="normal", delay=5.0, jitter=1.0)
    assert statistics.mean(normal) == pytest.approx(5, abs=0.1)
    assert statistics.stdev(normal) == pytest.approx(1, abs=0.1)
    lognormal = delays(distribution="lognormal", delay=1.0, shape=0.5)
    assert statistics.median(lognormal) == pytest.approx(1, abs=0.1)
    pareto = delays(distribution="pareto", delay=0.5, shape=2.0)
    assert min(pareto) >= 0.5
    assert statistics.median(pareto) == pytest.approx(0.5 * 2**0.5, abs=0.05)
    wild = delays(distribution="normal", delay=0.0, jitter=100.0, most=9)
    assert (min(wild), max(wild)) == (0.0, 9)


@pytest.mark.parametrize("number", range(12))
def test_a_grown_message_has_the_size_wanted_and_the_same_verdict(number: int) -> None:
    """Whatever its type: only the size is wrong with it."""
    for message in list(Samples(number).stream(12)):
        raw = serialise(message)
        grown = grow(raw, 60_000)
        assert grown is not None
        assert len(grown) == 60_000
        assert judge(grown).valid == judge(raw).valid


@given(st.binary(max_size=200))
def test_anything_can_be_grown(data: bytes) -> None:
    """What is no RDSS message gets blanks at its end."""
    grown = grow(data, 500)
    assert grown is not None
    assert grown == data + b" " * (500 - len(data))


MUTATIONS = next(a for a in TYPES["mutate"].attributes if a.name == "code").choices


@pytest.mark.parametrize("code", [code for code in MUTATIONS if code.startswith("GENERR")])
@pytest.mark.parametrize("type_", ["MetadataCreate", "MetadataUpdate", "MetadataDelete", "PreservationEvent"])
def test_a_mutation_causes_its_code(code: str, type_: str) -> None:
    """For every type of message that has what the code is about."""
    clock = Clock(frozen_at=NOON)
    fault_engine = FaultEngine(Chance(5), clock, Events(clock))
    fault_engine.add(NewFault("mutate", attributes={"code": code}))
    raw = [serialise(Samples(number).message(type_)) for number in range(20)]
    call = fault_engine.plan_publish("input", "memory", map(Message, raw))
    changed = [item.data for item, before in zip(call.items, raw, strict=True) if item.data != before]
    assert len(changed) == fault_engine.get("mutate").injected
    assert changed
    assert {judge(data, now=clock.time()).code for data in changed} == {ErrorCode(code)}


def test_a_mutation_for_the_application_leaves_a_valid_message() -> None:
    """Only the application can tell that an object is unknown or a checksum wrong."""
    clock = Clock(frozen_at=NOON)
    for code, type_ in (("APPERRMET001", "MetadataUpdate"), ("APPERRMET002", "MetadataDelete")):
        fault_engine = FaultEngine(Chance(5), clock, Events(clock))
        fault_engine.add(NewFault("mutate", attributes={"code": code}))
        raw = serialise(Samples(1).message(type_))
        (item,) = fault_engine.plan_publish("input", "memory", [Message(raw)]).items
        assert item.data != raw
        assert judge(item.data).valid


def test_every_code_that_a_message_can_cause_has_a_mutation() -> None:
    """Those that a message cannot cause are about the network, the system, a transaction, the unknown."""
    assert {code.value for code in ErrorCode} - set(MUTATIONS) == {
        "GENERR005",
        "GENERR006",
        "GENERR008",
        "GENERR009",
    }


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield process
    if process.poll() is None:
        process.send_signal(signal.SIGCONT)
        process.kill()
    process.communicate()


def wait_for_state(process: subprocess.Popen[bytes], letters: str) -> None:
    status = Path(f"/proc/{process.pid}/stat")
    wait_until(lambda: status.read_text().rpartition(")")[2].split()[0] in letters)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="a process's state is read from /proc")
def test_pause_halts_a_process_for_a_while(sleeper: subprocess.Popen[bytes]) -> None:
    """It stands still until the clock has passed the time, or the sandbox ends."""
    clock = Clock(frozen_at=NOON)
    events = Events(clock)
    fault_engine = FaultEngine(Chance(5), clock, events)
    fault_engine.add_target("sleeper", TargetProcess.of(sleeper.pid))
    for ends in (lambda: clock.advance(6), fault_engine.close):
        fault_engine.clear()
        fault_engine.add(NewFault("pause", attributes={"target": str(sleeper.pid)}))
        wait_for_state(sleeper, "T")
        ends()
        wait_for_state(sleeper, "SR")
    assert [e.fields["type"] for e in events.since() if e.kind == "fault.injected"] == ["pause", "pause"]


def test_kill_ends_a_process_when_a_message_says_so(sleeper: subprocess.Popen[bytes]) -> None:
    """At the third message, by the name under which the sandbox knows it."""
    clock = Clock(frozen_at=NOON)
    fault_engine = FaultEngine(Chance(5), clock, Events(clock))

    class Named:
        name = "broker"

        def pause(self) -> None: ...

        def resume(self) -> None: ...

        def kill(self) -> None:
            sleeper.kill()

    fault_engine.add_target("broker", Named())
    fault_engine.add(NewFault("kill", attributes={"target": "broker"}, when={"every": 3}))
    for number in range(3):
        assert sleeper.poll() is None
        put(fault_engine, clock, b"%d" % number)
    assert sleeper.wait(60) == -signal.SIGKILL


def put(fault_engine: FaultEngine, clock: Clock, data: bytes) -> None:
    """Put a message through the faults."""
    ChannelFaults(fault_engine, clock, "input", "memory").publish(
        [(data, "k")], lambda entries: [Receipt("", "")] * len(entries)
    )


@given(
    st.lists(st.tuples(st.integers(0, 4), st.lists(st.integers(0, 3), max_size=2)), min_size=1, max_size=20),
    st.integers(1, 5),
)
def test_what_is_held_back_comes_once_and_its_copies_later(
    plan: list[tuple[int, list[int]]], limit: int
) -> None:
    """Nothing is lost or made up by reordering and redelivering, whatever is asked for, and copies follow."""
    pending: DelayedDeliveries[int] = DelayedDeliveries()
    for number, (overtaken, again) in enumerate(plan):
        item = Item(
            Message(b""),
            b"%d" % number,
            overtaken_by=overtaken,
            again=again,
            patience=[HoldTime(Hold(), 100.0)],
        )
        pending.add([(item, number)])
    came = []
    for now in (0.0, 200.0):
        while due := pending.take(now, limit):
            came += due
    assert sorted(d.record for d in came if not d.again) == list(range(len(plan)))
    for number, (_, again) in enumerate(plan):
        places = [d.again for d in came if d.record == number]
        assert places == [False] + [True] * len(again)
