"""A full disk answers at once, on every port, with the reason; with space, everything works again."""

from __future__ import annotations

import contextlib
import errno
import os
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import boto3
import httpx
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from emulator.assembly.embedded import Embedded, embedded
from emulator.clock import Clock, stopwatch
from emulator.events import Events
from emulator.journal import frames
from emulator.rng import Chance
from emulator.settings.settings import Settings
from rdss_sandbox.shapes.topology import Topology
from tests.extensions.parts import PARTS, Part

_AT_ONCE_SECONDS = 5.0
_MEGABYTES = 24
LONG = b"d" * 9999
LARGE = Chance(1).draws("object").randbytes(1 << 20)
OF_EXTENSIONS = [part for part in PARTS if part.refusal]
FAULT = {"type": "latency", "channel": "nowhere"}


class Disk:
    """A disk that is full, and then is not."""

    def __init__(self, folder: Path, fill: Callable[[], None], free: Callable[[], None]) -> None:
        self.folder = folder
        self.fill = fill
        self.free = free


@contextlib.contextmanager
def real_disk(folder: Path) -> Iterator[Disk]:
    """A file system of its own, of a few megabytes."""
    if os.geteuid() != 0:
        pytest.skip("NOT ROOT: no file system can be mounted to be filled; the seam is tried all the same")
    options = ["-t", "tmpfs", "-o", f"size={_MEGABYTES}m", "tmpfs", str(folder)]
    mounted = subprocess.run(["mount", *options], capture_output=True, text=True, check=False)
    if mounted.returncode:
        pytest.skip(f"NO FILE SYSTEM CAN BE MOUNTED HERE: {mounted.stderr.strip()}")
    filler = folder / "filler"

    def fill() -> None:
        with filler.open("ab", buffering=0) as file:
            for size in (1 << 20, 1 << 12, 1):
                with contextlib.suppress(OSError):
                    while True:
                        file.write(b"x" * size)

    try:
        yield Disk(folder, fill, filler.unlink)
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=False)


@contextlib.contextmanager
def seam(folder: Path) -> Iterator[Disk]:
    """The journal's own writes fail as on a full disk."""
    full: list[bool] = []
    written = frames.write_all

    def write_all(descriptor: int, parts: list[bytes], position: int) -> int:
        if full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return written(descriptor, parts, position)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frames, "write_all", write_all)
        yield Disk(folder, lambda: full.append(True), full.clear)


@pytest.fixture(params=[real_disk, seam], ids=["a real one", "the seam"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Disk]:
    folder = tmp_path / "disk"
    folder.mkdir()
    with request.param(folder) as made:
        yield made


@pytest.fixture
def settings(disk: Disk, tmp_path: Path) -> Settings:
    return Settings(
        data_dir=disk.folder / "data",
        aws_port=0,
        control_port=0,
        amqp="none",
        extensions=tuple(each for part in PARTS for each in part.settings(tmp_path)),
        topology=Topology(streams={"input": 1}, buckets=()),
    )


class Clients:
    """A client of every port; what each does says whether it was taken."""

    def __init__(self, emulator: Embedded) -> None:
        self.emulator = emulator
        self.kinesis = boto3.client(
            "kinesis",
            endpoint_url=emulator.aws,
            region_name="us-east-1",
            aws_access_key_id="a",
            aws_secret_access_key="b",
            config=Config(retries={"total_max_attempts": 1}, read_timeout=10),
        )
        self.s3 = boto3.client(
            "s3",
            endpoint_url=emulator.aws,
            aws_access_key_id="a",
            aws_secret_access_key="b",
            config=Config(
                retries={"total_max_attempts": 1}, read_timeout=10, s3={"addressing_style": "path"}
            ),
        )
        self.http = httpx.Client(trust_env=False, timeout=10)
        self.sent = 0

    def put_record(self) -> str:
        return self._aws(lambda: self.kinesis.put_record(StreamName="input", PartitionKey="k", Data=LONG))

    def put_records(self) -> str:
        records = [{"PartitionKey": "k", "Data": LONG}] * 3

        def put() -> None:
            answer = self.kinesis.put_records(StreamName="input", Records=records)
            if answer["FailedRecordCount"]:
                failed = answer["Records"][0]
                error = {"Code": failed["ErrorCode"], "Message": failed["ErrorMessage"]}
                raise ClientError({"Error": error}, "Put")

        return self._aws(put)

    def put_object(self) -> str:
        return self._aws(lambda: self.s3.put_object(Bucket="things", Key="thing", Body=LARGE))

    def create_stream(self) -> str:
        self.sent += 1
        return self._aws(lambda: self.kinesis.create_stream(StreamName=f"{self.sent:099d}", ShardCount=1))

    def storing(self) -> Iterator[tuple[Callable[[], str], str]]:
        """All that stores something, and what is said when it cannot."""
        for store in (self.put_record, self.put_records, self.put_object, self.create_stream):
            yield store, "InternalFailure"
        for part in OF_EXTENSIONS:
            yield partial(self.store, part), part.refusal

    def store(self, part: Part) -> str:
        """By the port of an extension."""
        answer = part.store(self.emulator, self.http)
        return "" if answer.is_success else f"{answer.status_code} {answer.text}"

    def add_fault(self) -> str:
        """Stores nothing but an event."""
        answer = self.http.post(f"{self.emulator.control}/faults", json=FAULT)
        return "" if answer.is_success else f"{answer.status_code} {answer.text}"

    def status(self) -> str:
        answer = self.http.get(f"{self.emulator.control}/status")
        return "" if answer.is_success else f"{answer.status_code} {answer.text}"

    def _aws(self, call: Callable[[], Any]) -> str:
        try:
            call()
        except ClientError as error:
            return f"{error.response['Error']['Code']} {error.response['Error']['Message']}"
        return ""


@contextlib.contextmanager
def running(settings: Settings) -> Iterator[tuple[Embedded, Clients]]:
    with embedded(settings) as emulator:
        clients = Clients(emulator)
        with clients.http, contextlib.closing(clients.kinesis), contextlib.closing(clients.s3):
            clients.s3.create_bucket(Bucket="things")
            yield emulator, clients


def at_once(do: Callable[[], str]) -> str:
    began = stopwatch()
    said = do()
    assert stopwatch() - began < _AT_ONCE_SECONDS
    return said


def until_refused(do: Callable[[], str]) -> tuple[int, str]:
    """How often it was taken, and what was said then: the last page of a file may have room for some."""
    for taken in range(100):
        if said := at_once(do):
            return taken, said
    raise AssertionError("a full disk takes everything")


def test_a_full_disk_is_said_at_once_on_every_port(disk: Disk, settings: Settings) -> None:
    """With its protocol's error and the reason; what stores nothing works, and all does again with space."""
    with running(settings) as (emulator, clients):
        for store, _ in clients.storing():
            assert at_once(store) == "", store
        disk.fill()
        for store, code in clients.storing():
            taken, said = until_refused(store)
            assert code in said, store
            assert "No space left on device" in said, store
            assert store == clients.create_stream or not taken
        while not emulator.components.events.trouble:
            assert at_once(clients.add_fault) == ""
        assert at_once(clients.status) == ""
        notes = clients.http.get(f"{emulator.control}/status").json()["notes"]
        assert any("events are not written down" in note and "No space left" in note for note in notes)
        messages = at_once(lambda: str(clients.http.get(f"{emulator.control}/messages").status_code))
        assert messages in {"200", "507"}
        disk.free()
        for store, _ in clients.storing():
            assert at_once(store) == "", store
        events = emulator.components.events.since(0)
        kinds = [event.kind for event in events]
        assert kinds.count("events.unwritten") == 1
        assert kinds.count("events.written") == 1
        (end,) = (event for event in events if event.kind == "events.written")
        assert end.fields["lost"] == 0
        assert clients.http.get(f"{emulator.control}/messages").json()["total"] == 8
    with running(settings) as (emulator, clients):
        again = emulator.components.events.since(0)
        assert [event for event in again if event.id <= events[-1].id] == events
        assert clients.http.get(f"{emulator.control}/messages").json()["total"] == 8


def test_a_sandbox_starts_and_stops_on_a_full_disk(disk: Disk, settings: Settings) -> None:
    """It has what it had, and takes more when there is space."""
    with running(settings) as (emulator, clients):
        for store, _ in clients.storing():
            assert store() == "", store
        kept = [part.kept(emulator.components) for part in PARTS]
    disk.fill()
    with running(settings) as (emulator, clients):
        assert "No space left" in clients.put_record()
        for part in OF_EXTENSIONS:
            assert "No space left" in clients.store(part)
        assert [part.kept(emulator.components) for part in PARTS] == kept
        disk.free()
        assert clients.put_record() == ""
        for part in OF_EXTENSIONS:
            assert clients.store(part) == ""
        assert clients.http.get(f"{emulator.control}/messages").json()["total"] == 5


class FullLog:
    """A log of events that takes nothing while it is ``full``."""

    def __init__(self) -> None:
        self.full = False
        self.payloads: list[bytes] = []

    def append(self, payload: bytes) -> int:
        if self.full:
            raise OSError(errno.ENOSPC, "No space left on device")
        self.payloads.append(payload)
        return len(self.payloads) - 1

    def entries(self, start: int = 0) -> Iterator[tuple[int, bytes]]:
        return iter(list(enumerate(self.payloads))[start:])


def test_events_that_cannot_be_written_down_are_held_and_written_late() -> None:
    """In their order, followed by one that says how many; whoever is subscribed hears all of them."""
    log, heard = FullLog(), list[str]()
    events = Events(Clock(frozen_at=5.0), log, keep=100)
    with events.subscribed(lambda event: heard.append(event.kind)):
        events.emit("one")
        log.full = True
        events.emit("two")
        events.emit("three")
        assert events.trouble == "3 events are not written down: [Errno 28] No space left on device"
        log.full = False
        events.emit("four")
    assert events.trouble is None
    kinds = ["one", "two", "events.unwritten", "three", "four", "events.written"]
    assert heard == kinds
    again = Events(Clock(frozen_at=5.0), log).since()
    assert [event.kind for event in again] == kinds
    assert again == events.since()
    assert again[-1].fields == {"late": 3, "lost": 0}


def test_what_is_held_has_an_end_and_the_lost_are_counted() -> None:
    """A reader far behind still gets all that there is, in order."""
    log = FullLog()
    events = Events(Clock(frozen_at=5.0), log, keep=10)
    for _ in range(5):
        events.emit("early")
    log.full = True
    for _ in range(30):
        events.emit("late")
    read = list[int]()
    while batch := events.since(read[-1] if read else 0, limit=3):
        read += [event.id for event in batch]
    assert read == [1, 2, 3, 4, 5, *range(27, 37)]
    log.full = False
    events.emit("last")
    assert events.since(36)[-1].fields == {"late": 10, "lost": 22}
    assert [event.id for event in Events(Clock(), log).since(5)] == [*range(28, 39)]
