"""A run of 100,000 messages with every fault of the demonstration on and deaths on the way, then reconciled.

A sender and a receiver use a sandbox in a process of its own, which is killed again and again while its
audit loader has work before it, and started on the same data; the pipeline's driver is killed in the middle
of batches. At the end everything dispatched is compared with the audit bucket, the receiver's repository
and the tables. ``python -m tests.bench --area reconciliation``.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from emulator.channels.kinesis import KinesisChannel
from emulator.clock import Clock, stopwatch
from rdss_sandbox.client import Client, UnreachableError
from rdss_sandbox.installed_extensions import list_ports
from sandbox.aws_endpoint import AwsEndpoint
from sandbox.demo.demonstration import spread_reshards
from sandbox.gateway import Gateway
from sandbox.judging.arrivals import ARRIVALS, record_arrival
from sandbox.pipeline.reports.impact import FaultInjection, fetch_injections
from sandbox.pipeline.stages.reconciliation import Reconciliation
from sandbox.receiver import Arrival
from sandbox.receiver.assembled_receiver import assembled_receiver
from sandbox.receiver.over_kinesis import open_endpoint
from sandbox.repository import Repository
from sandbox.scenarios.expectation import split
from sandbox.scenarios.scenario import INPUT
from sandbox.scenarios.workload import make_messages
from tests.bench.rows import US, Row
from tests.bench.subjects import free_port
from tests.sandbox.demo.small_plan import shrink_plan

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MESSAGES, ROUND, BATCH = 100_000, 20_000, 20_000
_DRIVER_DIES_AT = ("batch 1", "batch 3: ")
_READY_SECONDS = 120.0
_AT_ONCE = 20
_IDLE_SECONDS = 2.0


@dataclass
class Sandbox:
    """A sandbox in a process of its own, always on the same ports and the same data."""

    folder: Path
    aws: int = field(default_factory=free_port)
    control: int = field(default_factory=free_port)
    deaths: int = 0

    def start(self) -> None:
        ports = ["--aws-port", str(self.aws), "--control-port", str(self.control)]
        ports += [f"--{name}-port=0" for name, _ in list_ports()]
        ports += ["--amqp", "none", "--seed", "1"]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "sandbox", "up", "--json", *ports, "--data-dir", "data"],
            cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[2])},
        )  # fmt: skip
        clock, began = Clock(), stopwatch()
        while stopwatch() - began < _READY_SECONDS:
            with suppress(UnreachableError), self.client() as client:
                client.status()
                return
            assert self._process.poll() is None, "the sandbox did not start"
            clock.wait(0.1)
        raise AssertionError("the sandbox did not answer in time")

    def client(self) -> Client:
        return Client(f"http://127.0.0.1:{self.control}")

    @property
    def endpoint(self) -> AwsEndpoint:
        return AwsEndpoint(f"http://127.0.0.1:{self.aws}", "us-east-1")

    def kill(self) -> None:
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def die(self) -> None:
        """Killed with its loader's work undone, and begun anew."""
        self.kill()
        self.deaths += 1
        self.start()


@contextmanager
def _started(folder: Path) -> Iterator[Sandbox]:
    sandbox = Sandbox(folder)
    sandbox.start()
    try:
        yield sandbox
    finally:
        sandbox.kill()


@dataclass(frozen=True)
class Ran:
    """What a run came to."""

    found: Reconciliation
    sent: int
    injected: list[FaultInjection]
    deaths: int
    rows: dict[str, int]


def sent_in_rounds(
    folder: Path, sandbox: Sandbox, messages: int, per_round: int
) -> tuple[int, list[FaultInjection]]:
    """Send in rounds, each with its faults, each ended by a death.

    The messages sent, parts one by one, and what the faults did to them.
    """
    clock, sent, injected = Clock(), 0, list[FaultInjection]()
    with closing(Repository(folder / "sender.sqlite3", clock)) as sender:
        for seed in range(1, messages // per_round + 1):
            plan = shrink_plan(
                seed, messages=per_round, sequences=4, bad=2, oversize=2, duplicates=0.05, delay=1
            )
            offered = make_messages(plan.stream.workload, seed, clock.time())
            parts = [part for each in offered for part in split(each.data)]
            with sandbox.client() as client:
                since = client.last_event()
                for fault in spread_reshards(plan.stream, len(parts)).faults:
                    client.add_fault(fault)
                with closing(KinesisChannel(sandbox.endpoint.kinesis(), INPUT, clock=clock)) as channel:
                    gateway = Gateway(channel, sender, clock)
                    for start in range(0, len(parts), _AT_ONCE):
                        gateway.send_serialised(*parts[start : start + _AT_ONCE])
                injected += fetch_injections(client, since)
            sent += len(parts)
            sandbox.die()
    return sent, injected


def _received(folder: Path, sandbox: Sandbox, sent: int) -> None:
    """A receiver takes everything there is."""
    clock = Clock()

    def process(arrival: Arrival, store: sqlite3.Connection) -> None:
        record_arrival(arrival, store, clock.time())

    with closing(Repository(folder / "receiver.sqlite3", clock)) as repository:
        with repository.transaction() as store:
            store.execute(ARRIVALS)
        with assembled_receiver(
            *open_endpoint(sandbox.endpoint, clock),
            stream=INPUT,
            repository=repository,
            application=process,
            clock=clock,
        ) as receiver:
            receiver.run(_Idle(repository, clock, sent))


@dataclass
class _Idle:
    """Whether the receiver has had at least what was sent, and then nothing more for a while."""

    receiver: Repository
    clock: Clock
    sent: int
    _seen: int = -1
    _since: float = 0.0

    def __call__(self) -> bool:
        seen = sum(self.receiver.tally(INPUT).values())
        if seen != self._seen:
            self._seen, self._since = seen, self.clock.elapsed()
        return seen >= self.sent and self.clock.elapsed() - self._since > _IDLE_SECONDS


def _audited(sandbox: Sandbox) -> tuple[str, ...]:
    """The streams of the audit log, once it is complete."""
    clock = Clock()
    with sandbox.client() as client:
        while client.audit_status().pending:
            clock.wait(0.2)
        return client.audit_status().taps


def _driver_killed_at(told: str, sandbox: Sandbox, to: Path, streams: str, batch: int) -> None:
    """A driver of the pipeline, killed with all its processes when it says ``told``."""
    command = [sys.executable, "-m", "tests.bench.reconciliation", sandbox.endpoint.url, str(to)]
    process = subprocess.Popen(
        [*command, streams, str(batch)], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout
    seen = any(line.startswith(told) for line in process.stdout)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert seen, f"the driver ended before it said {told!r}"


def run(
    spark: SparkSession,
    folder: Path,
    *,
    messages: int,
    per_round: int,
    batch: int,
    driver_dies_at: tuple[str, ...],
) -> Ran:
    """All of it, in ``folder``."""
    from sandbox.pipeline.pipeline_run import Job, once
    from sandbox.pipeline.reports.reconciling import ReconciledSystem, reconcile
    from sandbox.pipeline.storage.table_storage import TableStorage

    with _started(folder) as sandbox:
        sent, injected = sent_in_rounds(folder, sandbox, messages, per_round)
        _received(folder, sandbox, sent)
        streams = _audited(sandbox)
        for told in driver_dies_at:
            _driver_killed_at(told, sandbox, folder / "tables", ",".join(streams), batch)
        url = sandbox.endpoint.url
        job = Job(TableStorage.at(folder / "tables", url), url, streams=streams, records_per_trigger=batch)
        tables = once(spark, job)
        running = ReconciledSystem(url, "us-east-1", streams, "rdss-audit", folder / "receiver.sqlite3")
        found = reconcile(spark, tables, running)
        return Ran(found, sent, injected, sandbox.deaths + len(driver_dies_at), tables.rows())


def measure() -> list[Row]:
    """How many records are missing anywhere, which must be none, and how long it took."""
    from sandbox.pipeline.spark.spark_session import open_session

    began = stopwatch()
    os.environ |= {"AWS_ACCESS_KEY_ID": "bench", "AWS_SECRET_ACCESS_KEY": "bench"}
    spark = open_session("local[2]", memory="2g")
    with TemporaryDirectory(prefix="bench-reconciliation-") as folder:
        ran = run(
            spark,
            Path(folder),
            messages=MESSAGES,
            per_round=ROUND,
            batch=BATCH,
            driver_dies_at=_DRIVER_DIES_AT,
        )
    spark.stop()
    name = f"reconciliation of {MESSAGES:,} messages, {ran.deaths} deaths"
    lines = [*ran.found.lines(), *((f"rows of {table}", rows) for table, rows in ran.rows.items())]
    lines += [
        (f"{kind} injected", count) for kind, count in sorted(Counter(f.type for f in ran.injected).items())
    ]
    assert ran.found.exact, lines
    return [
        *(Row(f"{name}: {what}", US, count, "") for what, count in lines),
        Row(f"{name}: time", US, stopwatch() - began, "s"),
    ]


def _drive(url: str, to: str, streams: str, batch: str) -> None:
    """One driver of the pipeline, saying what it does on standard output."""
    from sandbox.pipeline.pipeline_run import Job, once
    from sandbox.pipeline.spark.spark_session import open_session
    from sandbox.pipeline.storage.table_storage import TableStorage

    spark = open_session("local[2]")
    job = Job(
        TableStorage.at(to, url), url, streams=tuple(streams.split(",")), records_per_trigger=int(batch)
    )

    def tell(what: str, _share: float) -> None:
        sys.stdout.write(f"{what}\n")
        sys.stdout.flush()

    once(spark, job, progress=tell)


if __name__ == "__main__":
    _drive(*sys.argv[1:])
