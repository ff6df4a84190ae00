"""The screens in front of a sandbox that is sent 2,000 messages a second: what both take of a core.

The sandbox, the screens and what sends are a process each. The share of a core is processor time, which what
else runs on the machine does not lengthen. The sandbox is measured without the screens too.
"""

from __future__ import annotations

import asyncio
import base64
import multiprocessing
import statistics
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import process_time

from emulator.clock import Clock, stopwatch
from rdss_sandbox.client import AsyncClient
from rdss_sandbox.installed_extensions import list_ports
from sandbox.profiles.in_process import started
from schemas.rdss.envelope import serialise
from schemas.rdss.samples import Samples
from tests.bench.load import Connection, rendered
from tests.bench.rows import US, Row
from tests.bench.subjects import processor_seconds
from tui.__main__ import tune_garbage_collection
from tui.app import SandboxApp
from tui.keys.preferences import Preferences
from tui.widgets.message_list import MessageList

PER_SECOND = 2_000
MEASURED_SECONDS = 10.0
_BATCH = 50
_SETTLE_SECONDS = 2.0
_QUIET_SENT = 30
_OPTIONS = ("--amqp", "none", "--data-dir", ":memory:", "--aws-port", "0", "--control-port", "0")


def measure() -> Iterator[Row]:
    """Rows for the table."""
    with (
        tempfile.TemporaryDirectory() as folder,
        started(
            [*_OPTIONS, *(f"--{name}-port=0" for name, _ in list_ports()), "--seed", "1"], Path(folder)
        ) as running,
    ):
        assert running.pid is not None
        port = int(running.aws.rpartition(":")[2])
        with _sending(port):
            Clock().wait(_SETTLE_SECONDS)
            alone = _share(running.pid, MEASURED_SECONDS)
        yield from asyncio.run(_with_screens(running.control, running.pid, port, alone))


async def _with_screens(control: str, sandbox: int, port: int, alone: float) -> list[Row]:
    app = SandboxApp(AsyncClient(control), Preferences())
    tune_garbage_collection()
    async with app.run_test(size=(160, 48)):
        await asyncio.sleep(_SETTLE_SECONDS)
        shown = app.screen.query_one(MessageList)
        late = [await _latency(port, shown) for _ in range(_QUIET_SENT)]
        used, theirs, begun = process_time(), processor_seconds(sandbox), stopwatch()
        await asyncio.sleep(MEASURED_SECONDS)
        quiet = (process_time() - used) / (stopwatch() - begun), _shared(sandbox, theirs, begun)
        with _sending(port):
            await asyncio.sleep(_SETTLE_SECONDS)
            before = (await app.client.status()).messages
            used, theirs, begun = process_time(), processor_seconds(sandbox), stopwatch()
            await asyncio.sleep(MEASURED_SECONDS)
            came = ((await app.client.status()).messages - before) / (stopwatch() - begun)
            screens = (process_time() - used) / (stopwatch() - begun)
            both = _shared(sandbox, theirs, begun)
    what = f"{PER_SECOND:,} messages/s"
    return [
        Row(f"{what}, came", US, round(came), "/s"),
        Row(f"{what}, the screens", US, round(screens * 100, 1), "% of a core"),
        Row(f"{what}, the sandbox behind them", US, round(both * 100, 1), "% of a core"),
        Row(f"{what}, a sandbox without screens", US, round(alone * 100, 1), "% of a core"),
        Row("nothing sent, the screens", US, round(quiet[0] * 100, 2), "% of a core"),
        Row("nothing sent, the sandbox behind them", US, round(quiet[1] * 100, 2), "% of a core"),
        Row("from a message's answer to the screen, median", US, round(statistics.median(late), 1), "ms"),
        Row("from a message's answer to the screen, longest", US, round(max(late), 1), "ms"),
    ]


async def _latency(port: int, shown: MessageList) -> float:
    """Milliseconds from the answer to a PutRecord until the list has its row."""
    before = shown.total
    with Connection(port) as connection:
        await asyncio.to_thread(connection.send, _request(1))
    sent = stopwatch()
    while shown.total == before or shown.current is None:  # noqa: ASYNC110 -- the list has no event for it
        await asyncio.sleep(0.002)
    took = (stopwatch() - sent) * 1000
    await asyncio.sleep(0.7)
    return took


@contextmanager
def _sending(port: int) -> Iterator[None]:
    """Send messages from another process while the context lasts."""
    sender = multiprocessing.get_context("spawn").Process(target=_send, args=(port,), daemon=True)
    sender.start()
    try:
        yield
    finally:
        sender.terminate()
        sender.join()


def _send(port: int) -> None:
    clock = Clock()
    requests = [_request(_BATCH, seed) for seed in range(20)]
    sent, begun = 0, stopwatch()
    with Connection(port) as connection:
        while True:
            connection.send(requests[sent % len(requests)])
            sent += 1
            clock.wait(max(0.0, begun + sent * _BATCH / PER_SECOND - stopwatch()))


def _request(count: int, seed: int = 0) -> bytes:
    samples = Samples(seed)
    data = [base64.b64encode(serialise(samples.message())).decode() for _ in range(count)]
    records = [{"Data": each, "PartitionKey": f"{seed}-{i}"} for i, each in enumerate(data)]
    return rendered("PutRecords", {"StreamName": "input", "Records": records})


def _share(process: int, seconds: float) -> float:
    used, begun = processor_seconds(process), stopwatch()
    Clock().wait(seconds)
    return _shared(process, used, begun)


def _shared(process: int, used: float, begun: float) -> float:
    return (processor_seconds(process) - used) / (stopwatch() - begun)
