"""The two applications of a demonstration: one sends the messages while the other receives them."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from emulator.clock import Clock
from sandbox.demo.transports import Transport
from sandbox.demo.workload import Item
from sandbox.gateway import Gateway
from sandbox.judging.arrivals import ARRIVALS, record_arrival
from sandbox.receiver import Arrival
from sandbox.repository import Repository

_AT_ONCE = 20
_FEWEST_BATCHES = 10


def send(
    transport: Transport, name: str, repository: Repository, clock: Clock, items: list[Item]
) -> Iterator[int]:
    """Send every item in order; yield the number sent after each batch. Raises ``SendFailedError``."""
    channel = transport.open_channel(name)
    gateway = Gateway(channel, repository, clock)
    at_once = max(1, min(_AT_ONCE, len(items) // _FEWEST_BATCHES))
    for start in range(0, len(items), at_once):
        batch = items[start : start + at_once]
        gateway.send_serialised(*(part for item in batch for part in item.parts))
        yield start + len(batch)
    channel.close()


@contextmanager
def receiving(
    transport: Transport,
    name: str,
    repository: Repository,
    clock: Clock,
    everything_came: Callable[[], bool],
) -> Iterator[None]:
    """Run a receiver in another thread until ``everything_came``; raise the error that stops it early."""
    failures: list[BaseException] = []

    def run() -> None:
        try:
            receive(transport, name, repository, clock, everything_came)
        except Exception as error:  # noqa: BLE001 -- handed to the thread that waits for this one
            failures.append(error)

    thread = threading.Thread(target=run, name="receiver", daemon=True)
    thread.start()
    try:
        yield
    finally:
        thread.join()
    if failures:
        raise failures[0]


def receive(
    transport: Transport,
    name: str,
    repository: Repository,
    clock: Clock,
    everything_came: Callable[[], bool],
) -> None:
    """Receive in this thread and record the arrivals, until ``everything_came``."""
    with repository.transaction() as store:
        store.execute(ARRIVALS)

    def application(arrival: Arrival, store: sqlite3.Connection) -> None:
        record_arrival(arrival, store, clock.time())

    with transport.receiver(name, repository, application) as receiver:
        receiver.run(everything_came)
