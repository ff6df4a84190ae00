"""Asynchronous processing: messages a second of one worker, with nothing and with a million stored."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final

from emulator.clock import Clock, stopwatch
from emulator.events import Events
from extensions.processing import Administration, Exchange, NewMessage, Parameters, Processing, Routes, State
from extensions.processing.stored_messages import Search
from tests.bench.rows import US, Row

STORED: Final = 1_000_000
_AT_ONCE: Final = 100
_TIMES: Final = 21
_BODY: Final = b"x" * 1000


def measure(stored: int = STORED) -> list[Row]:
    """Each message is received, calls one outside system, ends OK and is confirmed; all of it is on disk."""
    with TemporaryDirectory() as folder, ExitStack() as stack:
        empty, full = (
            stack.enter_context(closing(_opened(Path(folder) / name))) for name in ("empty", "full")
        )
        fill(full, stored)
        rows = _rates({"": empty, f" with {stored:,} stored": full})
        return rows + _looks(full, stored)


def fill(process: Processing, stored: int) -> None:
    """Store messages that are done with, each with its history, its call and its confirmation."""
    with process.store.transaction() as store:
        for statement in _FILL.split(";"):
            store.execute(statement, {"count": stored})
    process.store.rows("PRAGMA wal_checkpoint(TRUNCATE)")


def _opened(path: Path) -> Processing:
    def route(exchange: Exchange) -> None:
        exchange.call("crm", exchange.body)

    routes, clock = Routes(), Clock()
    routes.add("customer", "set", route)
    parameters = Parameters(throttling=None, partly_failed_interval=0.0)
    return Processing(path, routes, lambda *_: b"", clock, Events(clock), parameters=parameters)


def _rates(processes: dict[str, Processing]) -> list[Row]:
    """In turn, batch by batch, so that what else the machine does slows all of them."""
    received: dict[str, list[float]] = {name: [] for name in processes}
    processed: dict[str, list[float]] = {name: [] for name in processes}
    for batch in range(_TIMES):
        for name, process in processes.items():
            received[name].append(_timed(partial(_receive, process, batch)))
            processed[name].append(_timed(process.drain))
    return [
        Row(f"processing: {what}{name}", US, _AT_ONCE / median(times[name]), "messages/s", "more")
        for what, times in (("received", received), ("processed by a worker", processed))
        for name in processes
    ]


def _looks(process: Processing, stored: int) -> list[Row]:
    """The upkeep, and the searches that an index serves, over everything that is stored."""
    administration, last = Administration(process), process.store.rows("SELECT max(number) FROM messages")
    looks: dict[str, Callable[[], object]] = {
        "looking for what is due": process.queue_due,
        "looking for what is stuck": process.maintain_leases,
        "searching by state": lambda: administration.search(Search(state=State.FAILED)),
        "showing one message": lambda: administration.show(last[0][0]),
    }
    return [
        Row(
            f"processing: {name} with {stored:,} stored",
            US,
            1000 * median(_timed(look) for _ in range(_TIMES)),
            "ms",
        )
        for name, look in looks.items()
    ]


def _timed(work: Callable[[], object]) -> float:
    began = stopwatch()
    work()
    return stopwatch() - began


def _receive(process: Processing, batch: int) -> None:
    for at in range(_AT_ONCE):
        new = NewMessage(
            service="customer",
            operation="set",
            source="BENCH",
            correlation=f"{batch} {at}",
            timestamp=process.clock.time(),
            object_id="5",
            body=_BODY,
        )
        process.receive(new)


_FILL: Final = """
CREATE TEMP TABLE numbers AS
  WITH RECURSIVE n(number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM n LIMIT :count)
  SELECT number FROM n;
INSERT INTO messages (number, source, correlation, service, operation, object_id, funnel, timestamp, received,
                      started, changed, state, step)
  SELECT number, 'STORED', 'stored ' || number, 'customer', 'set', 'o-' || (number % 1000),
         'o-' || (number % 1000), number, number, number, number,
         iif(number % 1000, 'OK', 'FAILED'), 4 FROM numbers;
INSERT INTO bodies SELECT number, zeroblob(100) FROM numbers;
INSERT INTO calls (message, operation, key, state, failed, began, changed, newness)
  SELECT number, operation, 'STORED_stored ' || number, 'OK', 0, number, number, number FROM numbers
  CROSS JOIN (SELECT 'crm' AS operation UNION ALL SELECT 'confirmation');
INSERT INTO changes
  SELECT number, step, number, before, cause, after, 'stored', NULL FROM numbers CROSS JOIN (
    SELECT 1 AS step, NULL AS before, 'received' AS cause, 'NEW' AS after
    UNION ALL SELECT 2, 'NEW', 'queued', 'IN_QUEUE' UNION ALL SELECT 3, 'IN_QUEUE', 'started', 'PROCESSING'
    UNION ALL SELECT 4, 'PROCESSING', 'succeeded', 'OK');
DROP TABLE numbers
"""
