"""Several workers and processes on one store, and what becomes of the messages of one that is gone."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest

from extensions.processing import Exchange, Processing, State
from extensions.processing.processing_errors import ProcessingCode
from tests.extensions.processing.processing_platform import Platform, message_of, state_of


def _crash(_: Exchange) -> None:
    raise KeyboardInterrupt


def test_what_two_processes_see_at_once_one_takes(
    platform: Platform, process: Processing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other finds it at another step and leaves it."""
    platform.routes.add("customer", "set", lambda exchange: setattr(exchange, "no_effect", True))
    numbers = [platform.send(process) for _ in range(20)]
    process.drain()
    other = platform.open()
    platform.clock.advance(60)
    seen = other.store.rows
    looked: list[object] = []

    def late(query: str, *values: object) -> list[tuple[object, ...]]:
        found = seen(query, *values)
        if "INDEXED BY due" in query and not looked:
            looked.append(query)
            assert process.queue_due() == 20
        return found

    monkeypatch.setattr(other.store, "rows", late)
    assert other.queue_due() == 0
    assert looked
    assert {message_of(process, each).owner for each in numbers} == {process.owner}


def test_a_message_of_a_process_that_is_gone_is_taken_up_by_another(
    platform: Platform, process: Processing
) -> None:
    """When it has not been heard of for the length of a lease; that is an attempt that failed."""
    platform.routes.add("customer", "set", lambda _: None)
    number = platform.send(process)
    other = platform.open()
    platform.clock.advance(other.parameters.lease - 1)
    other.maintain_leases()
    assert state_of(other, number) is State.IN_QUEUE
    platform.clock.advance(1)
    other.maintain_leases()
    message = message_of(other, number)
    assert (message.state, message.failed, message.error_code) == (
        State.PARTLY_FAILED,
        1,
        ProcessingCode.STUCK,
    )
    other.queue_due()
    other.drain()
    assert state_of(other, number) is State.OK
    process.drain()
    assert other.store.changes(number)[-1].owner == other.owner


def test_a_process_that_is_alive_keeps_what_it_has(platform: Platform, process: Processing) -> None:
    """However long that takes: it says so every so often."""
    number = platform.send(process)
    other = platform.open()
    for _ in range(10):
        platform.clock.advance(process.parameters.lease / 2)
        process.maintain_leases()
        other.maintain_leases()
    assert state_of(other, number) is State.IN_QUEUE


def test_a_message_that_is_stuck_again_and_again_fails(platform: Platform, process: Processing) -> None:
    """Like one whose attempts fail; its source is told."""
    platform.routes.add("customer", "set", _crash)
    number = platform.send(process)
    for _ in range(4):
        with pytest.raises(KeyboardInterrupt):
            process.drain()
        platform.clock.advance(process.parameters.lease)
        process.maintain_leases()
        process.queue_due()
    message = message_of(process, number)
    assert (message.state, message.failed, message.error_code) == (State.FAILED, 4, ProcessingCode.STUCK)
    assert platform.told.results == ["FAILED"]


def test_a_worker_that_lost_its_message_writes_nothing(platform: Platform, process: Processing) -> None:
    """It was too slow: another has the message, and makes the call that was not recorded."""
    other = platform.open()

    @platform.route("set")
    def slow(exchange: Exchange) -> None:
        if exchange.message.owner == process.owner:
            platform.clock.advance(process.parameters.lease)
            other.maintain_leases()
            other.queue_due()
            other.drain()
        exchange.call("billing", exchange.message.owner.encode() if exchange.message.owner else b"")

    number = platform.send(process)
    process.drain()
    assert state_of(process, number) is State.OK
    assert process.store.changes(number)[-1].owner == other.owner
    assert platform.calls_of("billing") == [other.owner.encode()]


def test_workers_of_one_process_share_its_queue(platform: Platform) -> None:
    """Each message is processed once, by whichever is free."""
    process = platform.open(consumers=4)
    seen: Counter[int] = Counter()
    lock = threading.Lock()
    all_done = threading.Event()

    @platform.route("set")
    def count(exchange: Exchange) -> None:
        with lock:
            seen[exchange.message.number] += 1
            if len(seen) == 100:
                all_done.set()

    process.start()
    numbers = [platform.send(process) for _ in range(100)]
    assert all_done.wait(30)
    process.close()
    assert seen == Counter(numbers)


PROCESS = """
import sys
from pathlib import Path
from emulator.clock import Clock
from emulator.events import Events
from extensions.processing import Limit, NewMessage, Parameters, Processing, Routes

path, name = Path(sys.argv[1]), sys.argv[2]
clock = Clock(frozen_at=1_700_000_000.0)
routes = Routes()
with path.with_name(name).open("a") as calls:
    def outside(target, request):
        calls.write(request.decode() + "\\n")
        calls.flush()
        return b""

    def work(exchange):
        exchange.call("crm", exchange.body)
        if exchange.message.failed == 0:
            raise ConnectionError("once")

    routes.add("customer", "set", work)
    settings = Parameters(throttling=None, partly_failed_interval=0.0)
    process = Processing(path, routes, outside, clock, Events(clock), parameters=settings)
    for at in range(60):
        process.receive(NewMessage(service="customer", operation="set", source=name, correlation=str(at),
                                   timestamp=float(at), body=f"{name} {at}".encode()))
    sys.stdin.readline()
    process.drain()
    while process.store.rows("SELECT 1 FROM messages WHERE state != 'OK' LIMIT 1"):
        process.queue_due()
        process.drain()
    process.close()
"""


def test_processes_on_one_store_take_no_message_of_another(tmp_path: Path) -> None:
    """Three real ones, each with messages of its own and taking up what any of them failed at."""
    store = tmp_path / "processing.sqlite3"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    names = ["one", "two", "three"]
    running = [
        subprocess.Popen(
            [sys.executable, "-c", PROCESS, str(store), name], stdin=subprocess.PIPE, env=environment
        )
        for name in names
    ]
    for each in running:
        assert each.stdin is not None
        each.stdin.write(b"go\n")
        each.stdin.close()
    assert [each.wait(60) for each in running] == [0, 0, 0]
    calls = [line for name in names for line in (tmp_path / name).read_text().splitlines()]
    assert Counter(calls) == Counter(f"{name} {at}" for name in names for at in range(60))
