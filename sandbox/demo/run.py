"""A demonstration from its first message to its verdict, against a running emulator."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

from emulator.clock import Clock
from rdss_sandbox.client import Client
from sandbox.demo.demo_verdict import Result, judge
from sandbox.demo.expectation import expect
from sandbox.demo.failure_cases import FailuresSeen, run_failure_cases
from sandbox.demo.leg import Leg
from sandbox.demo.observation import observe_queue, observe_stream
from sandbox.demo.plan import Plan
from sandbox.demo.traffic import receiving, send
from sandbox.demo.transports import Transport, over_kinesis
from sandbox.demo.workload import workload
from sandbox.endpoint import Endpoint
from sandbox.repository import ArrivalStatus, Repository, Status

PATIENCE_SECONDS = 20.0
"""The time in seconds after the last send within which everything has to be received."""
_POLL_SECONDS = 0.1

Progress = Callable[[str, float], None]
"""Called with the present activity and the finished share of it, 0 to 1."""
Pipeline = Callable[[Endpoint, Path, Progress], Mapping[str, int]]
"""Writes tables from an AWS endpoint to a folder and returns the number of rows of each table."""


@dataclass(frozen=True, slots=True)
class DemoTarget:
    """The emulator's AWS endpoint and control API, and the folder for the results.

    ``token`` is the bearer token of a control API that listens beyond loopback. Without ``amqp``, the URL of
    a broker, everything goes through Kinesis.
    """

    aws: Endpoint
    control: str
    folder: Path
    token: str | None = None
    amqp: str | None = None


def demonstrate(
    plan: Plan, place: DemoTarget, clock: Clock, progress: Progress, pipeline: Pipeline | None = None
) -> Result:
    """Send messages through faults, receive them, read back the outcome and judge it.

    Raises ``UnusableFileError`` for the plan's source, and ``SendFailedError``, ``ChannelUnavailableError``,
    ``OriginalNotKeptError`` or ``UnreachableError`` when the emulator is gone.
    """
    now = clock.time()
    with ExitStack() as stack:
        control = stack.enter_context(Client(place.control, token=place.token))
        stream = _plan_leg(plan, over_kinesis(place.aws, clock), place.folder, clock, stack)
        queue = None
        if place.amqp is not None:
            by_amqp = Transport("rabbitmq", place.amqp, place.aws, clock)
            queue = _plan_leg(plan.through_amqp(), by_amqp, place.folder / "amqp", clock, stack)
        since = control.last_event()
        _send_and_receive([stream, queue] if queue else [stream], control, clock, progress)
        provoked = FailuresSeen(Counter(), 0)
        if plan.failure_cases:
            progress("failing on purpose", 0.0)
            provoked = run_failure_cases(place.aws, control, place.folder, clock, plan.seed)
        _wait_for_audit(control, clock, progress)
        progress("reading everything back", 0.0)
        seen = observe_stream(place.aws, stream, control=control, since=since, echoes=provoked.echoes)
        amqp = None
        if queue is not None:
            came = observe_queue(place.aws, queue, control=control, since=since)
            amqp = (came, expect(queue.items, came.injections.grown, now))
        tables = _tables(pipeline, place, progress) if pipeline else None
    wanted = expect(stream.items, seen.injections.grown, now)
    wanted.rejects.update(provoked.rejects)
    wanted.arranged = provoked.rejects.total()
    wanted.echoes = int(plan.failure_cases)
    return judge(plan, seen, wanted, tables, amqp)


def _wait_for_audit(control: Client, clock: Clock, progress: Progress) -> None:
    progress("waiting for the audit log", 0.0)
    deadline = clock.elapsed() + PATIENCE_SECONDS
    while control.audit_status().pending and clock.elapsed() < deadline:
        clock.wait(_POLL_SECONDS)


def _tables(pipeline: Pipeline, place: DemoTarget, progress: Progress) -> Mapping[str, int] | Exception:
    try:
        return pipeline(place.aws, place.folder / "tables", progress)
    except Exception as error:  # noqa: BLE001 -- a pipeline that fails is a line of the verdict
        (place.folder / "pipeline-failure.txt").write_text(str(error), encoding="utf-8")
        return error


def _plan_leg(plan: Plan, transport: Transport, folder: Path, clock: Clock, stack: ExitStack) -> Leg:
    """Make the messages of a leg, and open its repositories in ``folder``."""
    folder.mkdir(exist_ok=True)
    sender, receiver = (
        stack.enter_context(closing(Repository(folder / f"{who}.sqlite3", clock)))
        for who in ("sender", "receiver")
    )
    return Leg(plan, transport, workload(plan, clock.time()), sender, receiver)


def _send_and_receive(legs: list[Leg], control: Client, clock: Clock, progress: Progress) -> None:
    """Send the messages of all legs at the same time, through their faults; progress is that of the first."""
    for leg in legs:
        for fault in leg.plan.faults(sum(len(item.parts) for item in leg.items)):
            control.add_fault(fault)
    first, *others = (_Traffic(leg, clock, control) for leg in legs)
    with ThreadPoolExecutor(thread_name_prefix="demo") as pool:
        running = [pool.submit(other.run, lambda _what, _share: None) for other in others]
        first.run(progress)
        for each in running:
            each.result()
    for added in control.faults():
        control.remove_fault(added.name)


class _Traffic:
    """A sender in this thread and a receiver in another, until everything is received or time is over."""

    def __init__(self, leg: Leg, clock: Clock, control: Client) -> None:
        self._leg = leg
        self._clock = clock
        self._control = control
        self._sending_ended = threading.Event()
        self._deadline = 0.0  # after a failed send, there is nothing to wait for

    def run(self, progress: Progress) -> None:
        leg = self._leg
        with receiving(leg.transport, leg.channel, leg.receiver, self._clock, self._through):
            try:
                for gone in send(leg.transport, leg.channel, leg.sender, self._clock, leg.items):
                    progress("sending, receiving and breaking things", gone / len(leg.items))
                self._deadline = self._clock.elapsed() + PATIENCE_SECONDS
            finally:
                self._sending_ended.set()

    def _through(self) -> bool:
        """Whether the receiver has received every sent message and every copy made by faults."""
        if not self._sending_ended.is_set():
            return False
        if self._clock.elapsed() >= self._deadline:
            return True
        leg = self._leg
        sent = leg.sender.tally(leg.channel).get((Status.SENT, None, None), 0)
        faults = (fault for fault in self._control.faults() if fault.channel == leg.channel)
        copies = sum(fault.injected for fault in faults if fault.type == "duplicate")
        received = leg.receiver.tally(leg.channel)
        had = sum(count for (status, _, _), count in received.items() if status is Status.RECEIVED)
        return had + leg.receiver.counted(ArrivalStatus.DUPLICATE) >= sent + copies
