"""A class of twenty on one machine: a sandbox each, what all of them take, and twenty certificates at once.

    at rest          every sandbox waits             what a class takes while the trainer talks
    at work          20 messages a second to each    what it takes while everybody tries something
    all at once      a certificate in each folder    what it takes when everybody presses return together

Memory is proportional (PSS): what processes share counts once. Processor time, which what else runs on the
machine does not lengthen, is that of the sandboxes; of certificates that of the kit and its client.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from emulator.clock import Clock, stopwatch
from rdss_sandbox.installed_extensions import list_ports
from sandbox.profiles.in_process import started
from sandbox.profiles.running import Running
from tests.bench.load import Connection, put_records
from tests.bench.rows import US, Row
from tests.bench.subjects import processor_seconds

SEATS: Final = 20
PER_SECOND: Final = 20
REST_SECONDS: Final = 10.0
WORK_SECONDS: Final = 10.0
OPTIONS: Final = (
    *("--amqp", "none", "--data-dir", "data", "--aws-port", "0"),
    *("--control-port", "0", *(word for name, _ in list_ports() for word in (f"--{name}-port", "0"))),
)
"""As docs/trainers.md starts them, on free ports."""
_FIRST_SECONDS: Final = 10.0
_BYTES: Final = 1_000
_CLIENT: Final = Path(__file__).parents[1] / "sandbox/certify/clients/right_consumer.py"
_CERTIFY: Final = (
    *("certify", "consumer", "--level", "bronze", "--group", "delivery"),
    *("--seed", "7", "--no-shrink", "--"),
)


def measure() -> Iterator[Row]:
    """Rows for the table."""
    with tempfile.TemporaryDirectory() as name:
        yield from _measure_sandboxes(Path(name))
        used, passed = certify_at_once(SEATS, Path(name))
        yield Row(f"{SEATS} certificates in bronze at once, processor", US, round(used, 1), "s")
        yield Row(f"{SEATS} certificates in bronze at once, passed", US, passed, "", "more")


def _measure_sandboxes(folder: Path) -> Iterator[Row]:
    with sandboxes(SEATS, folder) as running:
        yield Row(f"{SEATS} starts, processor", US, round(_processor(running), 1), "s")
        used = share_of_a_core(running, REST_SECONDS)
        memory = [proportional_megabytes(each.pid) for each in running]
        yield Row(f"{SEATS} at rest, memory", US, round(sum(memory)), "MB")
        yield Row("the largest of them", US, round(max(memory)), "MB")
        yield Row(f"{SEATS} at rest, processor", US, round(used * 100, 1), "% of a core")
        # The first messages bring in what buckets and the audit log need.
        send_to(running, PER_SECOND, _FIRST_SECONDS)
        used = send_to(running, PER_SECOND, WORK_SECONDS)
        memory = [proportional_megabytes(each.pid) for each in running]
        what = f"{SEATS} at {PER_SECOND} messages/s each"
        yield Row(f"{what}, memory", US, round(sum(memory)), "MB")
        yield Row(f"{what}, processor", US, round(used * 100, 1), "% of a core")


@contextmanager
def sandboxes(count: int, folder: Path) -> Iterator[list[Running]]:
    """Start sandboxes in folders of their own, one after another; they end with the context."""
    with ExitStack() as stack:
        running = []
        for seat in range(1, count + 1):
            place = folder / f"seat-{seat}"
            place.mkdir()
            running.append(stack.enter_context(started(OPTIONS, place)))
        yield running


def share_of_a_core(running: Sequence[Running], seconds: float) -> float:
    """The share of a core that all of them take together while ``seconds`` pass."""
    before, begun = _processor(running), stopwatch()
    Clock().wait(seconds)
    return (_processor(running) - before) / (stopwatch() - begun)


def send_to(running: Sequence[Running], per_second: int, seconds: float) -> float:
    """Send messages to each, once a second; return the share of a core that all of them took."""
    request = put_records("input", per_second, _BYTES)
    before, begun = _processor(running), stopwatch()
    with ExitStack() as stack:
        connections = [stack.enter_context(Connection(int(each.aws.rpartition(":")[2]))) for each in running]
        for second in range(1, int(seconds) + 1):
            for connection in connections:
                connection.send(request)
            Clock().wait(max(0.0, begun + second - stopwatch()))
    return (_processor(running) - before) / (stopwatch() - begun)


def certify_at_once(count: int, folder: Path) -> tuple[float, int]:
    """Certify a right client ``count`` times at once; return the processor seconds, and how many passed."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    command = [sys.executable, "-m", "sandbox", *_CERTIFY, sys.executable, str(_CLIENT)]
    before = _processor_of_children()
    processes = [
        subprocess.Popen(
            command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        for _ in range(count)
    ]
    passed = [each.wait() for each in processes].count(0)
    return _processor_of_children() - before, passed


def proportional_megabytes(pid: int | None) -> float:
    """What a process holds in memory, a page that it shares with others in part."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) / 1024
    raise ValueError(f"process {pid} has no Pss")


def _processor(running: Sequence[Running]) -> float:
    return sum(processor_seconds(each.pid) for each in running if each.pid is not None)


def _processor_of_children() -> float:
    """The processor seconds of the children that have ended, and of theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
