"""What objects and streams both hold is on disk once, and each has it for as long as it is there itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from emulator.buckets.objects.bodies import Bodies
from emulator.buckets.objects.object_bodies import Body
from emulator.clock import Clock
from emulator.events import Events
from emulator.journal import Payloads
from emulator.kinesis import Engine, Scope
from emulator.rng import Chance
from rdss_sandbox.files.record_lines import RecordAddress, payload_spans, write_line
from schemas.rdss.envelope import serialise
from schemas.rdss.samples import Samples
from tests.waiting import wait_until

SCOPE = Scope("000000000000", "eu-west-2")
BATCH = 100
STREAMS = ("input", "audit")
MOST_SECONDS = 60


class StorageBench:
    """An engine and bodies in one data directory."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.payloads = Payloads(root)
        self.payloads.recover(careful=False)
        clock = Clock()
        self.engine = Engine(root / "streams", clock, Events(clock), segment_bytes=200_000)
        self.bodies = Bodies(root / "objects", payloads=self.payloads, find=payload_spans, file_bytes=100_000)
        for stream in STREAMS:
            self.engine.call("CreateStream", {"StreamName": stream, "ShardCount": 1}, SCOPE)

    def put(self, records: list[bytes]) -> None:
        """Into each stream, as the tap would do."""
        for stream in STREAMS:
            for at in range(0, len(records), BATCH):
                entries = [{"Data": data, "PartitionKey": "k"} for data in records[at : at + BATCH]]
                self.engine.call("PutRecords", {"StreamName": stream, "Records": entries}, SCOPE)

    def archive(self, records: list[bytes]) -> tuple[Body, bytes]:
        """An object, as the loader would write it, and what is in it."""
        text = b"".join(
            write_line(RecordAddress("audit", "shardId-000000000000", str(number)), "k", 0.0, data, None)
            for number, data in enumerate(records)
        )
        body = Body(self.bodies)
        body.write(text)
        return body, text

    def taken(self) -> int:
        files = (path for path in self.root.rglob("*") if path.is_file())
        return sum(path.stat().st_size for path in files) + self.bodies.stored_bytes

    def payload_files(self) -> list[Path]:
        return sorted((self.root / "payloads").glob("*.payloads"))

    def close(self) -> None:
        self.bodies.close()
        self.engine.close()
        self.payloads.close()


@pytest.fixture
def storage(tmp_path: Path) -> Iterator[StorageBench]:
    storage = StorageBench(tmp_path)
    yield storage
    storage.close()


def random_data(count: int = 1000, size: int = 1000) -> list[bytes]:
    draws = Chance(4).draws("sharing")
    return [draws.randbytes(size) for _ in range(count)]


def read(body: Body) -> bytes:
    body.seek(0)
    return body.read()


def messages(count: int = 500) -> list[bytes]:
    return [serialise(message) for message in Samples(7).stream(count)]


def half_random() -> list[bytes]:
    return [b'{"a": "%b", "Data":"x"}' % data.hex().encode() for data in random_data()]


@pytest.mark.parametrize("content", [random_data, half_random, messages])
@pytest.mark.parametrize("first", ["object", "segments"])
def test_three_copies_take_at_most_1_6_times_the_room(
    storage: StorageBench, content: Callable[[], list[bytes]], first: str
) -> None:
    """Whatever is in them, and whichever of them is there first; all are read as they were put."""
    records = content()
    size = sum(map(len, records))
    storage.put(records)
    if first == "segments":
        storage.engine.pack()
    archived = [storage.archive(records[at : at + 250]) for at in range(0, len(records), 250)]
    if first == "object":
        storage.engine.pack()

    wait_until(lambda: storage.taken() < 1.6 * size, shown=lambda: f"{storage.taken() / size:.2f}")

    for body, text in archived:
        assert read(body) == text
        assert b"".join(body.contents()[100:70_000]) == text[100:70_000]
    for stream in STREAMS:
        found: list[bytes] = []
        after = None
        while got := storage.engine.read(stream, "shardId-000000000000", after, 1000, SCOPE):
            found += [each.data for each in got]
            after = got[-1].sequence_number
        assert found == records


def test_an_object_keeps_what_it_shares_when_the_streams_are_gone(storage: StorageBench) -> None:
    records = random_data()
    storage.put(records)
    storage.engine.pack()
    body, text = storage.archive(records)
    wait_until(lambda: storage.bodies.stored_bytes < len(text) / 10)

    for stream in STREAMS:
        storage.engine.call("DeleteStream", {"StreamName": stream}, SCOPE)

    assert read(body) == text
    body.close()
    wait_until(lambda: not storage.payload_files())
    assert storage.bodies.stored_bytes == 0


def test_an_object_that_is_overwritten_lets_go_of_what_it_shared(storage: StorageBench) -> None:
    records = random_data(300)
    storage.put(records)
    storage.engine.pack()
    body, text = storage.archive(records)
    wait_until(lambda: storage.bodies.stored_bytes < len(text) / 10)
    body.seek(0)
    body.truncate()
    body.write(b"short")
    for stream in STREAMS:
        storage.engine.call("DeleteStream", {"StreamName": stream}, SCOPE)

    wait_until(lambda: not storage.payload_files())
    assert read(body) == b"short"


def test_an_object_of_which_the_payloads_are_damaged_is_not_given_out(storage: StorageBench) -> None:
    """The error names the file; another object is given as before."""
    records = random_data(300)
    storage.put(records)
    storage.engine.pack()
    body, text = storage.archive(records)
    other, other_text = storage.archive(random_data(10, 900))
    wait_until(lambda: storage.bodies.stored_bytes < len(text) / 5)
    for path in storage.payload_files():
        raw = bytearray(path.read_bytes())
        raw[5000] ^= 1
        path.write_bytes(raw)

    from emulator.journal.packed import _stretch

    _stretch.cache_clear()
    with pytest.raises(OSError, match="payloads is damaged at byte"):
        read(body)
    assert read(other) == other_text


def test_what_only_looks_like_an_archive_is_kept_as_it_is(storage: StorageBench) -> None:
    """Objects of users, with lines that are cut off and base64 that is none."""
    storage.put(random_data(100))
    storage.engine.pack()
    texts = [
        b',"message":{}}\n' * 100,
        b',"message_base64":"' + b"A" * 500,
        b',"message_base64":"' + b"*" * 500 + b'"}\n',
        b',"message_base64":"}\n' * 50,
        b'{"a":1,"message":\n' * 50,
        b"\n" * 1000,
    ]
    kept = [(Body(storage.bodies), text) for text in texts]
    for body, text in kept:
        body.write(text)
    last, archived = storage.archive(random_data(100))
    wait_until(lambda: storage.bodies._references)
    for body, text in [*kept, (last, archived)]:
        assert read(body) == text
