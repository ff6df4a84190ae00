"""The two applications of a demonstration: one sends the messages while the other receives them."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from emulator.channels.kinesis import KinesisChannel
from emulator.clock import Clock
from sandbox.demo.plan import CHANNEL
from sandbox.demo.workload import Item
from sandbox.endpoint import Endpoint
from sandbox.gateway import Gateway
from sandbox.judging.arrivals import ARRIVALS, record_arrival
from sandbox.receiver import Arrival
from sandbox.receiver.over_kinesis import receiver_over_kinesis
from sandbox.repository import Repository

_AT_ONCE = 20
_FEWEST_BATCHES = 10


def send(endpoint: Endpoint, repository: Repository, clock: Clock, items: list[Item]) -> Iterator[int]:
    """Send every item in order; yield the number sent after each batch. Raises ``SendFailedError``."""
    channel = KinesisChannel(endpoint.kinesis(), CHANNEL, clock=clock)
    gateway = Gateway(channel, repository, clock)
    at_once = max(1, min(_AT_ONCE, len(items) // _FEWEST_BATCHES))
    for start in range(0, len(items), at_once):
        batch = items[start : start + at_once]
        gateway.send_serialised(*(part for item in batch for part in item.parts))
        yield start + len(batch)
    channel.close()


@contextmanager
def receiving(
    endpoint: Endpoint, repository: Repository, clock: Clock, everything_came: Callable[[], bool]
) -> Iterator[None]:
    """Run a receiver in another thread until ``everything_came``; raise the error that stops it early."""
    failures: list[BaseException] = []

    def run() -> None:
        try:
            receive(endpoint, repository, clock, everything_came)
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
    endpoint: Endpoint, repository: Repository, clock: Clock, everything_came: Callable[[], bool]
) -> None:
    """Receive in this thread and record the arrivals, until ``everything_came``."""
    with repository.transaction() as store:
        store.execute(ARRIVALS)

    def application(arrival: Arrival, store: sqlite3.Connection) -> None:
        record_arrival(arrival, store, clock.time())

    with receiver_over_kinesis(endpoint, CHANNEL, repository, application, clock) as receiver:
        receiver.run(everything_came)
