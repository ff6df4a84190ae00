"""What surviving costs moto's services: a write, the first call after a start, and loading a snapshot."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final

from rdss_sandbox.client import Client
from rdss_sandbox.process import sandbox_process
from tests.bench.rows import US, Row
from tests.emulator.services.conftest import client_of
from tests.emulator.services.test_cost import (
    ITEMS,
    OBJECTS,
    fill_much,
    first_calls,
    put_item,
    put_object,
    write_costs,
)

IN_MEMORY: Final = "in memory"
RECORDS: Final = 10_000
_WRITES: Final = {"PutItem": ("dynamodb", put_item), "PutObject": ("s3", put_object)}
_NAMES: Final = {"dynamodb": "items", "s3": "objects"}
_IN_A_PUT: Final = 500


def measure(
    items: int = ITEMS, objects: int = OBJECTS, records: int = RECORDS, rounds: int = 9
) -> Iterator[Row]:
    """A sandbox with a data directory, beside one without."""
    with TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        for write, (service, put) in _WRITES.items():
            in_memory, stored = write_costs(service, put, folder / service, rounds)
            yield Row(f"{write}, processor time", US, stored.processor * 1000, "ms")
            yield Row(f"{write}, processor time", IN_MEMORY, in_memory.processor * 1000, "ms")
        fill_much(folder / "much", items, objects)
        with sandbox_process("--data-dir", str(folder / "much")) as sandbox:
            took = first_calls(sandbox, items, objects)
        counts = {"dynamodb": items, "s3": objects}
        for service, seconds in took.items():
            measured = f"first call after a start with {counts[service]:,} {_NAMES[service]}"
            yield Row(measured, US, seconds, "s")
        for subject, place in ((US, str(folder / "snapshots")), (IN_MEMORY, ":memory:")):
            small, large = load_snapshots(place, records, rounds)
            yield Row("loading a snapshot of no records, p50", subject, small * 1000, "ms")
            yield Row(f"loading a snapshot of {records:,} records of 1 KB, p50", subject, large * 1000, "ms")


def load_snapshots(place: str, records: int, rounds: int) -> tuple[float, float]:
    """The seconds of a load, as the sandbox measures it: of an empty one, and of one with records."""
    with sandbox_process("--data-dir", place) as sandbox, Client(sandbox.control) as client:
        client.snapshots.save("empty")
        kinesis = client_of(sandbox.aws, "kinesis")
        for start in range(0, records, _IN_A_PUT):
            numbers = range(start, min(start + _IN_A_PUT, records))
            batch = [{"Data": b"%1000d" % number, "PartitionKey": str(number)} for number in numbers]
            kinesis.put_records(StreamName="input", Records=batch)
        client.drain_audit()
        client.snapshots.save("full")
        took = {
            name: median(client.snapshots.load(name).seconds for _ in range(rounds))
            for name in ("empty", "full")
        }
        assert client.stream("input").records == records
        return took["empty"], took["full"]
