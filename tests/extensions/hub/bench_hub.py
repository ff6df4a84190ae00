"""A hub: what a hundred asleep take, how long a first call waits, and what it costs to be behind one.

    asleep       each of a hundred people has called once, and their sandboxes have been put to sleep
    a first call to a sandbox that was never started, and one to a sandbox that sleeps
    at work      20 messages a second to each of twenty, behind the hub and apart, with the same settings
    one call     PutRecord by the hub and directly, in turn, to the same sandbox

Memory is proportional (PSS), as in the area classroom; processor time is that of the sandboxes and the hub.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from emulator.clock import Clock, stopwatch
from rdss_sandbox.installed_extensions import list_ports
from sandbox.profiles import running
from sandbox.profiles.in_process import started
from tests.bench.classroom import PER_SECOND, SEATS, proportional_megabytes
from tests.bench.load import Connection, put_records, rendered
from tests.bench.rows import US, Row
from tests.bench.subjects import processor_seconds
from tests.extensions.hub.running_hub import RunningHub, start_hub
from tests.waiting import wait_until

ASLEEP: Final = 100
CALLS: Final = 2_000
_WORK_SECONDS: Final = 10
_BYTES: Final = 1_000
_KEY: Final = b"AKIAIOSFODNN7EXAMPLE"
_APART: Final = (
    *("--amqp", "embedded", "--data-dir", "data", "--aws-port", "0", "--amqp-port", "0"),
    *("--control-port", "0", *(word for name, _ in list_ports() for word in (f"--{name}-port", "0"))),
)


def measure() -> Iterator[Row]:
    """Rows for the table."""
    with tempfile.TemporaryDirectory() as name, start_hub(Path(name), "--idle", "2s") as hub:
        yield from _measure_sleep(hub)
    with tempfile.TemporaryDirectory() as name, start_hub(Path(name)) as hub:
        yield from _measure_call(hub)
    with tempfile.TemporaryDirectory() as name:
        apart = _measure_apart(Path(name))
    with tempfile.TemporaryDirectory() as name, start_hub(Path(name)) as hub:
        behind = _measure_behind(hub)
    what = f"{SEATS} at {PER_SECOND} messages/s each"
    for label, (share, memory) in (("apart", apart), ("behind the hub", behind)):
        yield Row(f"{what}, {label}, processor", US, round(share * 100, 1), "% of a core")
        yield Row(f"{what}, {label}, memory", US, round(memory), "MB")


def _measure_sleep(hub: RunningHub) -> Iterator[Row]:
    listing = rendered("ListStreams", {})
    names = [f"seat-{number}" for number in range(ASLEEP)]
    tokens = [hub.add(name).token for name in names]
    first = [_time_call(hub, listing, token) for token in tokens]
    yield Row("a first call, p50", US, round(statistics.median(first) * 1000), "ms")
    yield Row("a first call, the slowest of a hundred", US, round(max(first) * 1000), "ms")
    wait_until(lambda: all(each.state == "asleep" for each in hub.seats.list().seats), seconds=120)
    Clock().wait(5.0)  # what was freed is given back meanwhile
    memory = sum(proportional_megabytes(each) for each in (hub.pid, *hub.children()))
    yield Row(f"{ASLEEP} asleep, memory in all", US, round(memory, 1), "MB")
    woken = [_time_call(hub, listing, token) for token in tokens[:SEATS]]
    yield Row("a call that wakes, p50", US, round(statistics.median(woken) * 1000), "ms")


def _measure_call(hub: RunningHub) -> Iterator[Row]:
    """By turns, so that both meet the same moments of the machine."""
    seat = hub.add("anna")
    record = {"StreamName": "input", "Data": "x" * 1336, "PartitionKey": "k"}
    request = rendered("PutRecord", record).replace(_KEY, seat.token.encode())
    hub.aws(seat).list_streams()
    found = running.read(hub.folder / ".sandbox/hub/anna")
    assert found is not None
    took: tuple[list[float], list[float]] = ([], [])
    with ExitStack() as stack:
        ways = [stack.enter_context(Connection(_port(url))) for url in (hub.url, found.aws)]
        for _ in range(CALLS):
            for connection, each in zip(ways, took, strict=True):
                began = stopwatch()
                connection.send(request)
                each.append(stopwatch() - began)
    behind, direct = (statistics.median(each) * 1000 for each in took)
    yield Row("PutRecord directly, p50", US, round(direct, 3), "ms")
    yield Row("PutRecord by the hub, p50", US, round(behind, 3), "ms")
    yield Row("what the hub adds, p50", US, round(behind - direct, 3), "ms")


def _measure_behind(hub: RunningHub) -> tuple[float, float]:
    """The share of a core that all processes take while messages come, and their memory in MB."""
    seats = [hub.add(f"seat-{number}") for number in range(SEATS)]
    for each in seats:
        hub.aws(each).list_streams()
    targets = [(_port(hub.url), each.token) for each in seats]
    return _send_to(targets, lambda: (hub.pid, *hub.children()))


def _measure_apart(folder: Path) -> tuple[float, float]:
    with ExitStack() as stack:
        found = []
        for number in range(SEATS):
            place = folder / f"seat-{number}"
            place.mkdir()
            found.append(stack.enter_context(started(_APART, place)))
        pids = [each.pid for each in found if each.pid is not None]
        return _send_to([(_port(each.aws), "any") for each in found], lambda: pids)


def _send_to(
    targets: Sequence[tuple[int, str]], list_processes: Callable[[], Sequence[int]]
) -> tuple[float, float]:
    """Send to each once a second; the first seconds bring in what buckets and the audit log need."""
    request = put_records("input", PER_SECOND, _BYTES)
    with ExitStack() as stack:
        connections = [
            (stack.enter_context(Connection(port)), request.replace(_KEY, token.encode()))
            for port, token in targets
        ]
        share = 0.0
        for _ in range(2):
            before, begun = sum(map(processor_seconds, list_processes())), stopwatch()
            for second in range(1, _WORK_SECONDS + 1):
                for connection, each in connections:
                    connection.send(each)
                Clock().wait(max(0.0, begun + second - stopwatch()))
            share = (sum(map(processor_seconds, list_processes())) - before) / (stopwatch() - begun)
        return share, sum(map(proportional_megabytes, list_processes()))


def _time_call(hub: RunningHub, request: bytes, token: str) -> float:
    """How long a client waits that connects and calls."""
    began = stopwatch()
    with Connection(_port(hub.url)) as connection:
        connection.send(request.replace(_KEY, token.encode()))
    return stopwatch() - began


def _port(url: str) -> int:
    found = urlsplit(url).port
    assert found is not None
    return found
