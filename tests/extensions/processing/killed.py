"""Lives of a process that ends itself with kill -9 at one step after another; each on a store of its own.

``python -m tests.extensions.processing.killed FOLDER HOW`` prints for each step what was left when another
process had looked after it; HOW its routes are made: ``python`` or ``declared``. It forks, so it is a
process without threads.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from emulator.clock import Clock
from emulator.events import Events
from extensions.processing import Child, Exchange, NewMessage, Parameters, Processing, Routes, TechnicalError
from extensions.processing.confirmation import Confirmation
from extensions.processing.integration import DeclaredRoute, Integration, System, build_routes
from extensions.processing.steps import CallStep, DeclaredChild, SplitStep
from extensions.processing.transitions import FINAL, next_state
from tests.sandbox.receiver.mortal import MortalStore

_START = 1_700_000_000.0
_MOST_ROUNDS = 12
_SENT = {"split": "split", "set": "set"}


_HOW = sys.argv[2] if len(sys.argv) > 2 else "python"
_CORRELATION = "$.message.correlation"
_DECLARED = Integration(
    systems={name: System() for name in ("billing", "mno", "crm")},
    routes=(
        DeclaredRoute(
            "customer",
            "set",
            steps=(
                CallStep(system="billing", request=_CORRELATION),
                CallStep(system="mno", request=_CORRELATION),
            ),
        ),
        DeclaredRoute(
            "customer",
            "split",
            steps=(
                CallStep(system="crm", request=_CORRELATION),
                SplitStep(children=(DeclaredChild(service="customer", operation="set"),) * 2),
            ),
        ),
    ),
)


class WrittenStore(MortalStore):
    """A step is what writes: to die before a read is to die before the write that follows."""

    def execute(self, *statement: Any) -> sqlite3.Cursor:
        if statement[0].lstrip().startswith("SELECT"):
            return self._store.execute(*statement)
        return super().execute(*statement)


class Stage:
    """One process: its store is in ``folder``, where the outside world too notes what it was told."""

    def __init__(self, folder: Path, now: float, step: Callable[[], None]) -> None:
        self.folder = folder
        self.step = step
        self.clock = Clock(frozen_at=now)
        if _HOW == "declared":
            routes = build_routes(_DECLARED)
        else:
            routes = Routes()
            routes.add("customer", "set", self._set)
            routes.add("customer", "split", self._split)
        parameters = Parameters(throttling=None)
        self.process = Processing(
            folder / "store.sqlite3",
            routes,
            self._call,
            self.clock,
            Events(self.clock),
            parameters=parameters,
            confirm=self._confirm,
        )
        self.process.store._connection = WrittenStore(self.process.store._connection, step)  # type: ignore[assignment]

    def note(self, name: str, line: str) -> None:
        self.step()
        with (self.folder / name).open("a") as file:
            file.write(line + "\n")
        self.step()

    def noted(self, name: str) -> list[str]:
        path = self.folder / name
        return path.read_text().splitlines() if path.exists() else []

    def _set(self, exchange: Exchange) -> None:
        correlation = exchange.message.correlation.encode()
        exchange.call("billing", correlation)
        exchange.call("mno", correlation)

    def _split(self, exchange: Exchange) -> None:
        exchange.call("crm", exchange.message.correlation.encode())
        exchange.split([Child(service="customer", operation="set") for _ in range(2)])

    def _call(self, target: str, request: bytes) -> bytes:
        self.note("calls", f"{target} {request.decode()}")
        if target == "mno" and request == b"set" and self.noted("calls").count("mno set") == 1:
            raise TechnicalError("mno is down")
        return b""

    def _confirm(self, confirmation: Confirmation, /) -> None:
        self.note("confirmed", f"{confirmation.correlation} {confirmation.result}")

    def send(self) -> None:
        """What the source sends until it has heard that it was taken."""
        for correlation, operation in _SENT.items():
            if correlation in self.noted("acknowledged"):
                continue
            new = NewMessage(
                service="customer",
                operation=operation,
                source="CRM",
                correlation=correlation,
                timestamp=_START,
            )
            self.process.receive(new)
            self.note("acknowledged", correlation)

    def round(self) -> None:
        self.clock.advance(self.process.parameters.lease)
        self.process.maintain_leases()
        self.process.queue_due()
        self.process.drain()

    def live(self) -> None:
        self.send()
        self.process.drain()
        self.round()


def _in_a_process(work: Callable[[], None]) -> int:
    """The exit status of ``work`` in a fork of this process."""
    pid = os.fork()
    if pid == 0:
        try:
            work()
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _killed_at(folder: Path, moment: int) -> bool:
    """Live until the step; whether there were so many."""
    steps = iter(range(1, sys.maxsize))

    def step() -> None:
        if next(steps) == moment:
            os.kill(os.getpid(), signal.SIGKILL)

    status = _in_a_process(lambda: Stage(folder, _START, step).live())
    assert status in {0, -signal.SIGKILL}, status
    return status != 0


def _looked_after(folder: Path) -> dict[str, Any]:
    """What another process, later, makes of what was left."""
    fault_engine = Stage(folder, _START + 10_000, lambda: None)
    store = fault_engine.process.store
    recorded = {
        f"{operation} {key.removeprefix('CRM_')}"
        for operation, key in store.rows("SELECT operation, key FROM calls WHERE state = 'OK'")
    } & set(fault_engine.noted("calls"))
    before = Counter(fault_engine.noted("calls"))
    fault_engine.send()
    fault_engine.process.drain()
    for _ in range(_MOST_ROUNDS):
        unconfirmed = store.rows("SELECT 1 FROM calls WHERE due IS NOT NULL")
        if not unconfirmed and all(state in FINAL for state in _states(fault_engine).values()):
            break
        fault_engine.round()
    now = Counter(fault_engine.noted("calls"))
    return {
        "states": _states(fault_engine),
        "repeated": sorted(call for call in recorded if now[call] != before[call]),
        "confirmed": sorted(set(fault_engine.noted("confirmed"))),
        "illegal": [
            row for row in store.rows("SELECT before, cause, after FROM changes") if not _legal(*row)
        ],
        "calls": now,
    }


def _states(fault_engine: Stage) -> dict[str, str]:
    return dict(
        fault_engine.process.store.rows("SELECT correlation, state FROM messages ORDER BY correlation")
    )


def _legal(before: Any, cause: Any, state: Any) -> bool:
    return next_state(before, cause) == state


def _make(folder: Path) -> None:
    Stage(folder, _START, lambda: None).process.close()


def main(folder: Path) -> None:
    """Print a line of JSON for each step at which a life was ended."""
    empty = folder / "empty"
    empty.mkdir()
    _in_a_process(lambda: _make(empty))
    moment = 0
    while True:
        moment += 1
        here = folder / str(moment)
        shutil.copytree(empty, here)
        killed = _killed_at(here, moment)
        _in_a_process(lambda here=here: _report(here))  # type: ignore[misc]
        shutil.rmtree(here)
        if not killed:
            return


def _report(folder: Path) -> None:
    print(json.dumps(_looked_after(folder)), flush=True)  # noqa: T201 -- the output of a command


if __name__ == "__main__":
    main(Path(sys.argv[1]))
