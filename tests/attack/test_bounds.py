"""However much is sent: memory stays where it is, and the disk takes little more than what was sent."""

from __future__ import annotations

import base64
import re
import stat
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import pytest

from emulator.rng import Chance
from rdss_sandbox.client import Client
from rdss_sandbox.installed_extensions import list_ports
from sandbox.profiles.in_process import started
from sandbox.profiles.running import Running
from schemas.rdss.envelope import serialise
from schemas.rdss.samples import Samples
from tests.bench.load import Connection, rendered
from tests.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("attack"), pytest.mark.timeout(900)]

BATCH: Final = 500
RECORD_BYTES: Final = 1000
WARM, MORE = 100_000, 300_000
MOST_MEGABYTES: Final = 150
GROWTH_MEGABYTES: Final = 20
"""Of 300,000 records, which were 540 MB of memory; what a process takes goes up and down by most of it."""
SHARDS: Final = 128
"""Of the audit stream: what is loaded in one turn becomes an object for each of them."""
FEW_REQUESTS, MANY_REQUESTS = 20, 80
MOST_BYTES_OF_AN_OBJECT: Final = 1_300
"""It is 1,030, and was 2,540 when each object had its own copy of what all have alike."""
MESSAGES: Final = 40_000
DISK: Final = 1.6
_PORTS: Final = [
    argument for name in ("aws", "control", *dict(list_ports())) for argument in (f"--{name}-port", "0")
]
_LONGEST_SECONDS: Final = 400
_CALM_LOOKS: Final = 12
_PACKED_SECONDS: Final = 60
"""It is some 7 seconds on a machine that does nothing else."""


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[Running]:
    with started([*_PORTS, "--amqp", "none", "--data-dir", "data"], tmp_path) as running:
        yield running


def test_memory_does_not_grow_with_what_was_sent(sandbox: Running) -> None:
    """400,000 records, each in a stream, in the audit stream and in the audit bucket."""
    draws = Chance(1).draws("bounds")
    requests = [
        _put([draws.randbytes(RECORD_BYTES - 500) + b"x" * 500 for _ in range(BATCH)], salt)
        for salt in range(20)
    ]

    _send(sandbox, requests, WARM // BATCH)
    before = _least_resident_megabytes(sandbox)
    _send(sandbox, requests, MORE // BATCH)
    after = _least_resident_megabytes(sandbox)

    assert after < MOST_MEGABYTES
    assert after - before < GROWTH_MEGABYTES
    assert len(list(Path(f"/proc/{sandbox.pid}/fd").iterdir())) < 100


def test_an_object_of_the_audit_bucket_takes_little_memory(sandbox: Running) -> None:
    """Ten thousand objects and more, with a few small records each. Their bodies are on disk."""
    port = urlsplit(sandbox.aws).port
    assert port is not None
    with Connection(port) as connection:
        for doubled in range(1, SHARDS.bit_length()):
            wanted = {"StreamName": "audit", "TargetShardCount": 1 << doubled}
            connection.call("UpdateShardCount", {**wanted, "ScalingType": "UNIFORM_SCALING"})
    requests = [_put([b"%d-%d" % (salt, each) for each in range(BATCH)], salt) for salt in range(20)]

    _send_one_by_one(sandbox, requests, FEW_REQUESTS)
    before, few = _least_resident_megabytes(sandbox), _objects(sandbox)
    _send_one_by_one(sandbox, requests, MANY_REQUESTS)
    after, many = _least_resident_megabytes(sandbox), _objects(sandbox)

    assert many - few > 10_000
    assert (after - before) * 1e6 / (many - few) < MOST_BYTES_OF_AN_OBJECT


def _samples() -> list[bytes]:
    return [serialise(message) for message in Samples(7).stream(MESSAGES)]


def _random_bytes() -> list[bytes]:
    draws = Chance(2).draws("random")
    return [draws.randbytes(RECORD_BYTES) for _ in range(MESSAGES)]


def _json_of_random_bytes() -> list[bytes]:
    return [b'{"data": "%b"}' % base64.b64encode(data) for data in _random_bytes()]


@pytest.mark.parametrize("content", [_samples, _random_bytes, _json_of_random_bytes])
def test_records_take_at_most_1_6_times_their_size_on_disk(
    sandbox: Running, content: Callable[[], list[bytes]]
) -> None:
    """In their stream, on the audit stream and in the audit bucket, whatever they are; no two are alike."""
    records = content()
    size = sum(map(len, records))
    batches = [records[start : start + BATCH] for start in range(0, len(records), BATCH)]

    _send(sandbox, [_put(batch, salt) for salt, batch in enumerate(batches)], len(batches))

    pause = threading.Event()
    for _ in range(_PACKED_SECONDS):
        if (taken := _on_disk(sandbox)) <= DISK * size:
            break
        pause.wait(1)
    assert taken <= DISK * size, f"{taken / size:.2f} times what was sent"
    assert taken > size / 4, "the files are not where they were looked for"


def _put(records: Sequence[bytes], salt: int) -> bytes:
    entries = [
        {"Data": base64.b64encode(data).decode(), "PartitionKey": f"{salt}-{number}"}
        for number, data in enumerate(records)
    ]
    return rendered("PutRecords", {"StreamName": "output", "Records": entries})


def _send(sandbox: Running, requests: Sequence[bytes], count: int) -> None:
    """Send so many of the requests, over and over, and wait until all of it is in the bucket."""
    port = urlsplit(sandbox.aws).port
    assert port is not None
    with Connection(port) as connection:
        for number in range(count):
            connection.send(requests[number % len(requests)])
    with Client(sandbox.control) as client:
        wait_until(lambda: not client.audit_status().pending, seconds=_LONGEST_SECONDS)


def _send_one_by_one(sandbox: Running, requests: Sequence[bytes], count: int) -> None:
    """Send so many, each when the one before is in the bucket: what comes together becomes one object."""
    for number in range(count):
        _send(sandbox, [requests[number % len(requests)]], 1)


def _resident_megabytes(sandbox: Running) -> float:
    found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{sandbox.pid}/status").read_text())
    assert found is not None
    return int(found[1]) / 1000


def _least_resident_megabytes(sandbox: Running) -> float:
    """What is resident when the work is done and freed memory was given back."""
    pause = threading.Event()
    seen = []
    for _ in range(_CALM_LOOKS):
        pause.wait(1)
        seen.append(_resident_megabytes(sandbox))
    return min(seen)


def _objects(sandbox: Running) -> int:
    with Client(sandbox.control) as client:
        return client.audit_status().objects


def _on_disk(sandbox: Running) -> int:
    """What the data directory takes, and the files without a name that the process has."""
    named = []
    for path in Path(sandbox.data_dir).rglob("*"):
        with suppress(FileNotFoundError):
            named.append(path.lstat())
    unnamed = []
    for descriptor in Path(f"/proc/{sandbox.pid}/fd").iterdir():
        # What it leads to has a size, even when it has no name any more; it may be closed by now.
        try:
            status = descriptor.stat()
        except FileNotFoundError:
            continue
        if stat.S_ISREG(status.st_mode) and not status.st_nlink:
            unnamed.append(status)
    return sum(status.st_blocks * 512 for status in (*named, *unnamed))
