"""A processing's store, routes and outside systems on one clock, and what a test asks about messages."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from emulator.clock import Clock
from emulator.events import Events
from extensions.processing import (
    Exchange,
    Limit,
    Message,
    NewMessage,
    Parameters,
    Processing,
    Routes,
    SimulatedSystem,
    SimulatedSystems,
    State,
)
from extensions.processing.confirmation import Confirmation
from rdss_sandbox.shapes.events import Event

START = 1_700_000_000.0


class Told:
    """A source system that is told of ends; the first ``failing`` times it does not listen."""

    def __init__(self) -> None:
        self.confirmations: list[Confirmation] = []
        self.failing = 0
        self.asked = 0

    def __call__(self, confirmation: Confirmation, /) -> None:
        self.asked += 1
        if self.asked <= self.failing:
            raise ConnectionError("the source system is down")
        self.confirmations.append(confirmation)

    @property
    def results(self) -> list[str]:
        return [each.result for each in self.confirmations]


class Platform:
    """What a test has in its hands."""

    def __init__(self, folder: Path) -> None:
        self.clock = Clock(frozen_at=START)
        self.events = Events(self.clock)
        self.routes = Routes()
        self.outside = SimulatedSystems(
            SimulatedSystem(name, self.clock) for name in ("billing", "mno", "crm")
        )
        self.told = Told()
        self.path = folder / "processing.sqlite3"
        self._opened: list[Processing] = []
        self._sent = 0
        self._stack = ExitStack()

    def open(self, **parameters: Any) -> Processing:
        """Another process on the store."""
        wanted = {"throttling": {"*.*": Limit(1000)}} | parameters
        process = Processing(
            self.path,
            self.routes,
            self.outside,
            self.clock,
            self.events,
            parameters=Parameters(**wanted),
            confirm=self.told,
        )
        self._opened.append(process)
        return process

    def close(self) -> None:
        for process in self._opened:
            process.close()
        self._stack.close()

    def route(self, operation: str) -> Callable[[Callable[[Exchange], None]], Callable[[Exchange], None]]:
        def add(route: Callable[[Exchange], None]) -> Callable[[Exchange], None]:
            self.routes.add("customer", operation, route)
            return route

        return add

    def new(self, operation: str = "set", **given: Any) -> NewMessage:
        """A message of a source system; each has a correlation id of its own, and is a second later."""
        self._sent += 1
        trace = {"source": "crm", "correlation": f"c-{self._sent}", "timestamp": START + self._sent}
        return NewMessage(**({"service": "customer", "operation": operation} | trace | given))

    def send(self, process: Processing, operation: str = "set", **given: Any) -> int:
        """Have a message received; its number."""
        receipt = process.receive(self.new(operation, **given))
        assert receipt.status == "OK"
        assert receipt.number is not None
        return receipt.number

    def calls_of(self, system: str) -> list[bytes]:
        return self.outside.systems[system].received

    def script(self, system: str, *answers: str) -> None:
        self.outside.systems[system].script(answers)

    def ends(self, kind: str, **fields: Any) -> threading.Event:
        """Set once such an event has happened."""
        happened = threading.Event()

        def look(event: Event) -> None:
            if event.kind == kind and all(event.fields.get(name) == value for name, value in fields.items()):
                happened.set()

        self._stack.enter_context(self.events.subscribed(look))
        return happened

    def advance_until(self, happened: threading.Event, seconds: float) -> None:
        """Let time pass, so many seconds a step, until something has happened; fails when it does not."""
        for _ in range(1000):
            self.clock.advance(seconds)
            if happened.wait(0.02):
                return
        raise AssertionError("it did not happen")

    def retry(self, process: Processing) -> int:
        """Let the interval pass and take up what is due; how many."""
        self.clock.advance(process.parameters.partly_failed_interval)
        taken = process.queue_due()
        process.drain()
        return taken


def state_of(process: Processing, number: int) -> State:
    return process.store.message(number).state


def causes_of(process: Processing, number: int) -> list[str]:
    return [str(change.cause) for change in process.store.changes(number)]


def message_of(process: Processing, number: int) -> Message:
    return process.store.message(number)


def put(process: Processing, number: int, state: State) -> None:
    """Have a message in a state, however it got there."""
    with process.store.transaction() as store:
        store.execute("UPDATE messages SET state = ?, step = step + 1 WHERE number = ?", (state, number))
