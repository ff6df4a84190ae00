"""Whatever interrupts a save or a load: there is the old state or the new one, and never a mixture."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import Any

import msgspec
import pytest

from emulator.faults.fault_engine import FaultEngine
from emulator.journal import frames
from emulator.kinesis import Engine
from emulator.rng import Chance
from emulator.services.service_store import ServiceStore
from emulator.snapshots import snapshot_file
from emulator.snapshots.snapshot_errors import SnapshotError
from rdss_sandbox.client import Client, RefusedError, UnreachableError
from rdss_sandbox.process import sandbox_process
from tests.emulator.services.conftest import client_of
from tests.emulator.services.test_surviving import make_table
from tests.emulator.snapshots.whole_lesson import Teach, change, fill, read
from tests.extensions.parts import PARTS

SEED = 20_261_122
DEATHS = 12
OPTIONS = ("--amqp", "none")
OF_EXTENSIONS = [part.component for part in PARTS if part.component]
LASTING = ("clock", "faults", "permissions")
"""What a restart leaves out, unless it finishes a load."""


def lasting(found: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in found.items() if name not in LASTING}


@pytest.mark.parametrize("component", [Engine, ServiceStore, FaultEngine, *OF_EXTENSIONS])
def test_a_load_that_stops_half_way_is_finished_by_the_next_start(
    component: type[Any], on_disk: Teach, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError("the disk is gone")

    with on_disk() as lesson:
        fill(lesson)
        before = read(lesson)
        lesson.control.snapshots.save("s")
        change(lesson)
        with monkeypatch.context() as broken:
            broken.setattr(component, "load", fail)
            with pytest.raises(
                RefusedError, match=r"stopped half way .the disk is gone.*the next start finishes the load"
            ):
                lesson.control.snapshots.load("s")
    with on_disk() as lesson:
        assert read(lesson) == before
        assert [each.fields["snapshot"] for each in lesson.control.events() if each.kind == "snapshot.loaded"]
    with on_disk() as lesson:
        assert lasting(read(lesson)) == lasting(before)


def test_a_load_that_stopped_can_be_repeated_at_once(
    anywhere: Teach, monkeypatch: pytest.MonkeyPatch
) -> None:
    with anywhere() as lesson:
        fill(lesson)
        before = read(lesson)
        lesson.control.snapshots.save("s")
        with monkeypatch.context() as broken:
            broken.setattr(FaultEngine, "load", lambda *_: 1 / 0)
            with pytest.raises(RefusedError, match="Load it again"):
                lesson.control.snapshots.load("s")
        lesson.control.snapshots.load("s")
        assert read(lesson) == before


def test_a_save_that_stops_half_way_leaves_the_snapshot_as_it_was(
    on_disk: Teach, monkeypatch: pytest.MonkeyPatch
) -> None:
    with on_disk() as lesson:
        fill(lesson)
        before = read(lesson)
        lesson.control.snapshots.save("s")
        change(lesson)
        written = 0

        def header(*given: Any, **named: Any) -> bytes:
            nonlocal written
            written += 1
            if written > 3:
                raise OSError(28, "No space left on device")
            return frames.header(*given, **named)

        with monkeypatch.context() as full:
            full.setattr(snapshot_file.frames, "header", header)
            with pytest.raises(RefusedError, match="No space left"):
                lesson.control.snapshots.save("s")
        lesson.control.snapshots.load("s")
        assert read(lesson) == before
        folder = Path(lesson.control.snapshots.list().folder or "")
        assert sorted(path.name for path in folder.iterdir()) == ["loads", "s.snapshot"]


def test_a_byte_flipped_anywhere_is_found_before_anything_changes(on_disk: Teach) -> None:
    with on_disk() as lesson:
        fill(lesson)
        lesson.control.snapshots.save("s")
        before = read(lesson)
        path = Path(lesson.control.snapshots.list().folder or "", "s.snapshot")
        whole = path.read_bytes()
        draws = Chance(SEED).draws("bytes")
        for at in (0, 40, len(whole) - 1, *(draws.randrange(len(whole)) for _ in range(20))):
            path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x10]) + whole[at + 1 :])
            with pytest.raises(RefusedError, match=f"{path.name} is damaged at byte .*nothing was changed"):
                lesson.control.snapshots.load("s")
        path.write_bytes(whole[: len(whole) // 2])
        with pytest.raises(RefusedError, match="damaged at byte"):
            lesson.control.snapshots.load("s")
        path.write_bytes(b"nothing like it")
        (found,) = lesson.control.snapshots.list().snapshots
        assert "damaged at byte 0" in (found.trouble or "")
        assert read(lesson) == before
        path.write_bytes(whole)
        lesson.control.snapshots.load("s")


def test_another_version_of_moto_is_refused_in_one_line(
    on_disk: Teach, monkeypatch: pytest.MonkeyPatch
) -> None:
    with on_disk() as lesson:
        lesson.client("sqs").create_queue(QueueName="q")
        with monkeypatch.context() as older:
            older.setattr(snapshot_file, "version", lambda _: "5.0.0")
            lesson.control.snapshots.save("s")
        with pytest.raises(
            RefusedError, match=r"written with moto 5\.0\.0, .* pip install moto==5.0.0"
        ) as caught:
            lesson.control.snapshots.load("s")
        assert "\n" not in str(caught.value)


def test_an_interrupted_load_of_a_damaged_snapshot_is_not_begun_again(on_disk: Teach, tmp_path: Path) -> None:
    """The start is refused in one line, and takes nothing away."""
    with on_disk() as lesson:
        lesson.control.snapshots.save("s")
    folder = tmp_path / "data" / "snapshots"
    (folder / "loads").write_bytes(msgspec.json.encode({"begun": 1, "unfinished": "s"}))
    (folder / "s.snapshot").write_bytes(b"nothing like it")
    with pytest.raises(SnapshotError, match="damaged at byte 0") as caught, on_disk():
        pass
    assert "\n" not in str(caught.value)
    (folder / "loads").unlink()
    with on_disk() as lesson:
        assert len(lesson.control.streams()) > 1


def describe(url: str, control: str) -> dict[str, Any]:
    with Client(control) as client:
        items = client_of(url, "dynamodb").scan(TableName="t")["Items"]
        return {
            "records": {each.name: each.records for each in client.streams() if each.name == "input"},
            "items": sorted(each["key"]["S"] for each in items),
            "objects": [
                each["Key"]
                for each in client_of(url, "s3").list_objects_v2(Bucket="mine").get("Contents", [])
            ],
        }


def fill_process(url: str, control: str, word: str) -> None:
    records = [{"Data": word.encode(), "PartitionKey": word}] * len(word)
    client_of(url, "kinesis").put_records(StreamName="input", Records=records)
    client_of(url, "dynamodb").put_item(TableName="t", Item={"key": {"S": word}})
    client_of(url, "s3").put_object(Bucket="mine", Key=word, Body=word.encode() * 100_000)
    with Client(control) as client:
        client.snapshots.save(word)


def load_and_save(client: Client) -> None:
    while True:
        client.snapshots.load("another")
        client.snapshots.save("another")
        client.snapshots.load("one")


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_process_killed_while_it_loads_and_saves(tmp_path: Path) -> None:
    """After each kill -9 the next start has one of the two states whole, and every snapshot can be loaded."""
    draws = Chance(SEED).draws("deaths")
    given = ("--data-dir", str(tmp_path / "data"), *OPTIONS)
    states: dict[str, Any] = {}
    with sandbox_process(*given) as sandbox:
        make_table(client_of(sandbox.aws, "dynamodb"), "t")
        client_of(sandbox.aws, "s3").create_bucket(Bucket="mine")
        for word in ("one", "another"):
            fill_process(sandbox.aws, sandbox.control, word)
            states[word] = describe(sandbox.aws, sandbox.control)
    for death in range(DEATHS):
        with sandbox_process(*given) as sandbox:
            assert describe(sandbox.aws, sandbox.control) in states.values(), f"after death {death}"
            deadline = threading.Timer(draws.random() * 0.5, os.kill, (sandbox.pid, signal.SIGKILL))
            with Client(sandbox.control) as client:
                client.snapshots.load("one")
                deadline.start()
                with pytest.raises((RefusedError, UnreachableError)):
                    load_and_save(client)
            deadline.join()
    with sandbox_process(*given) as sandbox, Client(sandbox.control) as client:
        for word, state in states.items():
            client.snapshots.load(word)
            assert describe(sandbox.aws, sandbox.control) == state
