"""A prune that is killed, wherever: what it was not to remove is all there, and nothing is half there."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Final
from unittest.mock import patch

import pytest

from emulator.assembly.components import Components
from emulator.assembly.data_directory import read_events
from emulator.assembly.embedded import Embedded, embedded
from emulator.buckets.objects.kept_bodies import KeptBodies
from emulator.clock import Clock
from emulator.settings.settings import Settings
from rdss_sandbox.client import Client
from rdss_sandbox.shapes.pruning import Prune
from rdss_sandbox.shapes.topology import AuditTap, Topology
from tests.emulator.services.conftest import client_of

HOUR: Final = 3600.0
NOW: Final = 1_800_000_000.0
OLD: Final = NOW - 30 * HOUR
SENT: Final = NOW - 10 * HOUR
HELD: Final = {"input": 40, "audit": 40, "amqp:exchange": 40, "pruned": 1, "kept": 2}
"""How much of what was sent is there after a whole prune. Streams keep a day, and the prune twelve hours."""
_KILLED = 86
_PRUNE = f"""
import os, shutil, sys
from pathlib import Path
from emulator.journal import frames
from tests.emulator.archive import test_killed_prune as tested

CHANGES = {{"os.rename", "os.remove", "os.mkdir", "os.link", "os.truncate", "os.rmdir"}}
WRITING = os.O_CREAT | os.O_WRONLY | os.O_RDWR

def prune_until(left, folder):
    def count():
        nonlocal left
        left -= 1
        if left < 0:
            os._exit({_KILLED})

    def step(event, given):
        if event in CHANGES or (event == "open" and isinstance(given[2], int) and given[2] & WRITING):
            count()

    def write(*given, write_all=frames.write_all):
        count()
        return write_all(*given)

    with tested.opened(folder, tested.SENT) as components:
        components.buckets.client().list_buckets()
        frames.write_all = write
        sys.addaudithook(step)
        tested.prune(components)
        os._exit(0)

original, copies = map(Path, sys.argv[1:])
with tested.opened(shutil.copytree(original, copies / "warm" / "data")) as components:
    components.buckets.client().list_buckets()
step, code = 0, {_KILLED}
while code == {_KILLED}:
    folder = copies / str(step) / "data"
    shutil.copytree(original, folder)
    child = os.fork()
    if not child:
        prune_until(step, folder)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    step += 1
print(step, code)
"""
"""Each child is killed before its n-th change of a file, from the beginning of the prune on."""


@contextmanager
def opened(folder: Path, at: float = NOW) -> Iterator[Components]:
    with small_files(), embedded(settings(folder), Clock(frozen_at=at)) as emulator:
        yield emulator.components


def small_files() -> AbstractContextManager[object]:
    """Let a file of objects' bodies be full soon, so that what is left of it has to move."""
    return patch.dict(KeptBodies.__init__.__kwdefaults__ or {}, file_bytes=30_000)


def settings(folder: Path) -> Settings:
    return Settings(
        data_dir=folder,
        aws_port=0,
        control_port=0,
        amqp="none",
        topology=Topology(
            streams={"input": 1, "audit": 1}, buckets=("rdss-audit",), audit=AuditTap(taps=("input",))
        ),
    )


def send(emulator: Embedded, name: str) -> None:
    """Have records in a stream, its audit log and a log of AMQP, and two objects of a user's."""
    components = emulator.components
    for number in range(40):
        data = os.urandom(2000) + f"{name} {number}".encode()
        record = {"StreamName": "input", "PartitionKey": "k", "Data": data}
        components.streams.call("PutRecord", record, components.home)
        components.amqp.record("exchange", [(data, "key")])
    with Client(emulator.control) as client:
        client.drain_audit()
    with closing(client_of(emulator.aws, "s3")) as s3:
        for bucket, size in (("kept", 9000), ("pruned", 60_000 if name == "old" else 9000)):
            s3.create_bucket(Bucket=bucket)
            s3.put_object(Bucket=bucket, Key=name, Body=os.urandom(size))
    components.streams.pack()  # type: ignore[attr-defined]
    components.amqp._engine.pack()


def prune(components: Components) -> None:
    """Remove what is older than twelve hours, and then what retention lets go of."""
    components.clock.set_time(NOW)
    components.pruning.prune(Prune(older_than=12 * HOUR))
    components.pruning.prune(Prune(older_than=12 * HOUR, buckets=("pruned",)))
    for service in (components.streams, components.amqp):
        service.streams(components.home)


def read(components: Components) -> dict[str, dict[str, bytes]]:
    """All that a start has of each stream and bucket, and the events by their numbers; all can be read."""
    found: dict[str, dict[str, bytes]] = {}
    for service in (components.streams, components.amqp):
        for view in service.streams(components.home):
            for shard in view.shards:
                there = service.read(view.name, shard.id, None, 1000, components.home)
                found.setdefault(view.name, {}).update({each.sequence_number: each.data for each in there})
    s3 = components.buckets.client()
    for bucket in ("pruned", "kept"):
        keys = [each["Key"] for each in s3.list_objects_v2(Bucket=bucket).get("Contents", ())]
        found[bucket] = {key: s3.get_object(Bucket=bucket, Key=key)["Body"].read() for key in keys}
    found["events"] = {str(each.id): b"" for each in components.events.since()}
    return found


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with as much that is thirty hours old as is ten."""
    folder = tmp_path_factory.mktemp("left") / "data"
    clock = Clock(frozen_at=OLD)
    with small_files(), embedded(settings(folder), clock) as emulator:
        send(emulator, "old")
        clock.set_time(SENT)
        send(emulator, "new")
    return folder


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_killed_at_every_step_it_has_removed_nothing_that_stays(left: Path, tmp_path: Path) -> None:
    """Every record, object and event that is to stay is there, whole, and the next prune ends the first."""
    copies = tmp_path / "copies"
    script = [sys.executable, "-c", _PRUNE, str(left), str(copies)]
    ran = subprocess.run(script, capture_output=True, text=True, timeout=500, check=False)
    assert ran.returncode == 0, ran.stderr
    steps, code = map(int, ran.stdout.split())
    assert code == 0
    assert steps > 12
    written = {str(event.id) for event in read_events(left) if event.time > NOW - 12 * HOUR}
    assert written
    with opened(copies / str(steps - 1) / "data") as components:
        whole = read(components)
    assert {name: len(whole[name]) for name in HELD} == HELD
    for step in range(steps - 1):
        with opened(copies / str(step) / "data") as components:
            now = read(components)
            prune(components)
            again = read(components)
            complaints = [each for each in components.events.since() if each.kind.startswith("journal.")]
            assert (components.damage, complaints) == ([], []), step
        assert written <= now["events"].keys(), step
        assert now["pruned"].items() >= whole["pruned"].items(), step
        assert all(now[name] == whole[name] for name in HELD.keys() - {"pruned"}), step
        assert all(again[name] == whole[name] for name in HELD), step
