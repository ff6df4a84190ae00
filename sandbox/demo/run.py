"""A demonstration from its first message to its verdict, against a running emulator."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from emulator.clock import Clock
from rdss_sandbox.client import Client
from sandbox.demo.demo_verdict import Result, judge
from sandbox.demo.expectation import expect
from sandbox.demo.failure_cases import FailuresSeen, run_failure_cases
from sandbox.demo.observation import observe
from sandbox.demo.plan import CHANNEL, Plan
from sandbox.demo.traffic import receiving, send
from sandbox.demo.workload import Item, workload
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

    ``token`` is the bearer token of a control API that listens beyond loopback.
    """

    aws: Endpoint
    control: str
    folder: Path
    token: str | None = None


def demonstrate(
    plan: Plan, place: DemoTarget, clock: Clock, progress: Progress, pipeline: Pipeline | None = None
) -> Result:
    """Send messages through faults, receive them, read back the outcome and judge it.

    Raises ``UnusableFileError`` for the plan's source, and ``SendFailedError``, ``ChannelUnavailableError``,
    ``OriginalNotKeptError`` or ``UnreachableError`` when the emulator is gone.
    """
    now = clock.time()
    items = workload(plan, now)
    with (
        Client(place.control, token=place.token) as control,
        closing(Repository(place.folder / "sender.sqlite3", clock)) as sender,
        closing(Repository(place.folder / "receiver.sqlite3", clock)) as receiver,
    ):
        since = control.last_event()
        for fault in plan.faults(sum(len(item.parts) for item in items)):
            control.add_fault(fault)
        _Traffic(place, clock, control, sender, receiver).run(items, progress)
        for added in control.faults():
            control.remove_fault(added.name)
        provoked = FailuresSeen(Counter(), 0)
        if plan.failure_cases:
            progress("failing on purpose", 0.0)
            provoked = run_failure_cases(place.aws, control, place.folder, clock, plan.seed)
        _wait_for_audit(control, clock, progress)
        progress("reading everything back", 0.0)
        seen = observe(
            place.aws,
            control=control,
            clock=clock,
            sender=sender,
            receiver=receiver,
            items=items,
            since=since,
            echoes=provoked.echoes,
        )
        tables = _tables(pipeline, place, progress) if pipeline else None
    wanted = expect(items, seen.injections.grown, now)
    wanted.rejects.update(provoked.rejects)
    wanted.arranged = provoked.rejects.total()
    wanted.echoes = int(plan.failure_cases)
    return judge(plan, seen, wanted, tables)


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


class _Traffic:
    """A sender in this thread and a receiver in another, until everything is received or time is over."""

    def __init__(
        self, place: DemoTarget, clock: Clock, control: Client, sender: Repository, receiver: Repository
    ) -> None:
        self._place = place
        self._clock = clock
        self._control = control
        self._sender = sender
        self._receiver = receiver
        self._sending_ended = threading.Event()
        self._deadline = 0.0  # after a failed send, there is nothing to wait for

    def run(self, items: list[Item], progress: Progress) -> None:
        with receiving(self._place.aws, self._receiver, self._clock, self._through):
            try:
                for gone in send(self._place.aws, self._sender, self._clock, items):
                    progress("sending, receiving and breaking things", gone / len(items))
                self._deadline = self._clock.elapsed() + PATIENCE_SECONDS
            finally:
                self._sending_ended.set()

    def _through(self) -> bool:
        """Whether the receiver has received every sent message and every copy made by faults."""
        if not self._sending_ended.is_set():
            return False
        if self._clock.elapsed() >= self._deadline:
            return True
        sent = self._sender.tally(CHANNEL).get((Status.SENT, None, None), 0)
        copies = sum(fault.injected for fault in self._control.faults() if fault.type == "duplicate")
        received = self._receiver.tally(CHANNEL)
        had = sum(count for (status, _, _), count in received.items() if status is Status.RECEIVED)
        return had + self._receiver.counted(ArrivalStatus.DUPLICATE) >= sent + copies
