"""What recording costs a relay: the processor time of a call, in short turns with and without a recorder."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from threading import Event, Thread
from typing import Final
from urllib.parse import urlsplit

from rdss_sandbox.client import Client
from rdss_sandbox.process import sandbox_process
from tests.bench.load import Connection, put_records, rendered
from tests.bench.rows import US, Row

TURNS: Final = 40
CALLS: Final = 400
BATCHES: Final = 80
"""A turn is long enough that a recorder takes several times in each."""
UNRECORDED: Final = "not recorded"
_BATCH, _RECORD_BYTES = 100, 1_000
_TAKE_SECONDS: Final = 0.2


def measure(turns: int = TURNS, calls: int = CALLS, batches: int = BATCHES) -> Iterator[Row]:
    """The middle of many turns, for a machine has other things to do. The upstream is a sandbox of ours.

    What recording costs is the middle of what each turn with it takes more than the one beside it.
    """
    data = base64.b64encode(bytes(i % 251 for i in range(_RECORD_BYTES))).decode()
    ones = [
        rendered("PutRecord", {"StreamName": "input", "Data": data, "PartitionKey": f"key-{i}"})
        for i in range(50)
    ]
    many = [put_records("input", _BATCH, _RECORD_BYTES, salt) for salt in range(4)]
    with ExitStack() as stack:
        upstream = stack.enter_context(sandbox_process())
        relay = stack.enter_context(sandbox_process("--profile", "relay", "--upstream-aws", upstream.aws))
        control = stack.enter_context(Client(relay.control))
        connection = stack.enter_context(Connection(urlsplit(relay.aws).port or 0))
        pid = control.status().pid
        for name, requests, count in (
            ("AWS relay, PutRecord 1 KB", ones, calls),
            (f"AWS relay, PutRecords {_BATCH} x 1 KB", many, batches),
        ):
            took: dict[str, list[float]] = {UNRECORDED: [], US: []}
            for turn in range(2 * turns):
                recorded = turn % 4 in (1, 2)  # neither always comes first
                with ExitStack() as listening:
                    if recorded:
                        listening.enter_context(_recording(control))
                    began = _processor_seconds(pid)
                    for at in range(count):
                        connection.send(requests[at % len(requests)])
                    spent = _processor_seconds(pid) - began
                took[US if recorded else UNRECORDED].append(spent / count)
            for subject, each in took.items():
                yield Row(f"{name}, processor of a call", subject, median(each) * 1e3, "ms")
            more = [with_it / without for with_it, without in zip(took[US], took[UNRECORDED], strict=True)]
            yield Row(f"{name}, cost of recording", US, (median(more) - 1) * 100, "%")


@contextmanager
def _recording(control: Client) -> Iterator[None]:
    """Take what passes as ``sandbox record`` does, in this process."""
    number, stop = control.recordings.begin().id, Event()

    def take() -> None:
        with Client(control.url) as client:
            while not stop.wait(_TAKE_SECONDS):
                client.recordings.take(number)

    thread = Thread(target=take)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        control.recordings.end(number)


def _processor_seconds(pid: int) -> float:
    """What a process and its threads have used of the processor; only Linux tells it so precisely."""
    tasks = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(each.read_text().split()[0]) for each in tasks) / 1e9
