"""Damage of files that a start does not read is found before somebody reads it."""

from __future__ import annotations

import os
from pathlib import Path
from queue import Queue
from typing import Any

import pytest

from emulator.assembly.components import build_components
from emulator.assembly.embedded import embedded
from emulator.journal import Segments
from emulator.journal.checking import Checking
from emulator.journal.frames import DamagedLogError
from emulator.rng import Chance
from emulator.settings.settings import Settings
from rdss_sandbox.shapes.topology import Topology
from tests.waiting import wait_until


def settings(folder: Path) -> Settings:
    return Settings(
        data_dir=folder,
        aws_port=0,
        control_port=0,
        amqp="none",
        topology=Topology(streams={"input": 1}, buckets=()),
    )


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    """A directory in which the records of a stream are compressed, and their data is shared."""
    folder, draws = tmp_path / "data", Chance(3).draws("records")
    with build_components(settings(folder)) as components:
        records = [{"Data": draws.randbytes(3000), "PartitionKey": "k"} for _ in range(400)]
        components.streams.call("PutRecords", {"StreamName": "input", "Records": records}, components.home)
        components.streams.pack()  # type: ignore[attr-defined]
    return folder


@pytest.mark.parametrize("suffix", [".packed", ".payloads"])
def test_a_wrong_byte_is_told_soon_after_the_start(suffix: str, packed: Path) -> None:
    """By an event and a note that name the file and the byte, though nobody reads the records."""
    (path,) = packed.rglob(f"*{suffix}")
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    path.write_bytes(raw)
    with embedded(settings(packed)) as emulator:
        wait_until(lambda: any(str(path) in note for note in emulator.status().notes))
        (event,) = (each for each in emulator.components.events.since(0) if each.kind == "journal.damaged")
        assert event.fields["file"] == str(path)
        assert "sandbox repair" in event.fields["why"]


def test_of_sound_files_nothing_is_said(packed: Path) -> None:
    """Each is looked at to its end."""
    found: list[DamagedLogError] = []
    checking = Checking(packed, found.append)
    checking.start()
    checking._thread.join(60)
    assert not checking._thread.is_alive()
    assert found == []


def test_a_sealed_segment_that_is_not_compressed_is_checked(tmp_path: Path) -> None:
    """Its index is enough for a start, so that a start does not see what is wrong in it."""
    segments = Segments(tmp_path / "shard", segment_bytes=1000)
    for number in range(40):
        segments.append(b"%058d\n" % number * 3, 3, 177, 1000 + number)
    segments.close()
    path = min((tmp_path / "shard").glob("*.log"))
    raw = bytearray(path.read_bytes())
    raw[80] ^= 1
    path.write_bytes(raw)
    found: list[DamagedLogError] = []
    checking = Checking(tmp_path, found.append)
    checking.start()
    checking._thread.join(60)
    assert [each.path for each in found] == [path]


def test_a_folder_that_vanishes_meanwhile_ends_no_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stream is deleted while files are listed: what is damaged behind it is found all the same."""
    deleted, damaged = tmp_path / "a", tmp_path / "b.packed"
    deleted.mkdir()
    damaged.write_bytes(b"no packed file")
    scan = os.scandir

    def delete_then_scan(path: Any) -> Any:
        if str(path) == str(deleted):
            deleted.rmdir()
        return scan(path)

    monkeypatch.setattr(os, "scandir", delete_then_scan)
    found: Queue[DamagedLogError] = Queue()
    checking = Checking(tmp_path, found.put)
    checking.start()
    assert found.get(timeout=60).path == damaged
    checking.close()
