"""A data directory says its format: no version opens one that it does not know, none overwrites another's."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from emulator.assembly.components import Components, build_components
from emulator.assembly.damage import describe_put_aside
from emulator.assembly.data_directory import DataDirectory, read_events
from emulator.assembly.embedded import embedded
from emulator.assembly.repair import repair
from emulator.journal import Segments, frames
from emulator.journal.format_mark import OtherFormatError
from emulator.settings.settings import Settings
from rdss_sandbox.shapes.topology import Topology
from rdss_sandbox.version import VERSION

SHARD = "shardId-000000000000"


def settings(folder: Path) -> Settings:
    ports = {"aws_port": 0, "control_port": 0}
    return Settings(
        data_dir=folder, amqp="none", topology=Topology(streams={"input": 1}, buckets=()), **ports
    )


def put(components: Components, count: int, first: int = 0) -> None:
    records = [{"Data": b"%0500d" % (first + n), "PartitionKey": "k"} for n in range(count)]
    components.streams.call("PutRecords", {"StreamName": "input", "Records": records}, components.home)


def read(components: Components) -> list[int]:
    found: list[int] = []
    after = None
    while got := components.streams.read("input", SHARD, after, 1000, components.home):
        found += [int(each.data) for each in got]
        after = got[-1].sequence_number
    return found


def contents(folder: Path) -> dict[str, tuple[bytes, int]]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    """A directory with 400 records in a compressed segment, and no mark: it is of a version before marks.

    The file ``log`` beside it is the segment before it was compressed.
    """
    folder = tmp_path / "data"
    with build_components(settings(folder)) as components:
        put(components, 400)
        shutil.copyfile(segment(folder, ".log"), tmp_path / "log")
        components.streams.pack()  # type: ignore[attr-defined]
    (folder / "format").unlink(missing_ok=True)
    assert segment(folder, ".packed").exists()
    return folder


def segment(folder: Path, suffix: str) -> Path:
    (shard,) = {path.parent for path in folder.glob("streams/streams/*/*/*")}
    return shard / f"{1:016d}{suffix}"


@pytest.mark.parametrize(("number", "version"), [(7, "9.1.0"), (0, "0.0.1")])
def test_a_directory_of_another_format_is_refused_and_not_touched(
    number: int, version: str, packed: Path
) -> None:
    """The error names both versions and both formats, for whatever opens it."""
    (packed / "format").write_text(json.dumps({"format": number, "version": version}))
    before = contents(packed)
    for opening in (
        lambda: DataDirectory(packed),
        lambda: list(repair(packed)),
        lambda: list(read_events(packed)),
    ):
        with pytest.raises(OtherFormatError) as refused:
            opening()
        for part in (f"format {number} of rdss-sandbox {version}", f"rdss-sandbox {VERSION}", "up to 2"):
            assert part in str(refused.value)
    assert contents(packed) == before


def test_a_directory_from_before_marks_is_taken_over_once(packed: Path) -> None:
    """It has all its records, is said to be taken over, and nothing of it is called lost."""
    (packed / "inventory.log").unlink()
    with embedded(settings(packed)) as emulator:
        assert read(emulator.components) == list(range(400))
        assert emulator.components.damage == []
        assert sum("taken over as format 2" in note for note in emulator.status().notes) == 1
        kinds = [event.kind for event in emulator.components.events.since(0)]
        assert kinds.count("journal.taken_over") == 1
    assert json.loads((packed / "format").read_bytes()) == {"format": 2, "version": VERSION}
    with embedded(settings(packed)) as emulator:
        assert not any("taken over" in note for note in emulator.status().notes)


def test_a_directory_of_the_format_before_is_opened_and_marked_anew(packed: Path) -> None:
    """The version that wrote it refuses it from then on, since it could not read the logs."""
    (packed / "format").write_text(json.dumps({"format": 1, "version": "0.1.0"}))
    with embedded(settings(packed)) as emulator:
        assert read(emulator.components) == list(range(400))
        assert emulator.components.damage == []
    assert json.loads((packed / "format").read_bytes()) == {"format": 2, "version": VERSION}


def test_a_new_directory_is_marked_and_nothing_is_said(tmp_path: Path) -> None:
    """A list of logs that is missing from a marked directory is still a loss."""
    with embedded(settings(tmp_path / "data")) as emulator:
        assert not any("taken over" in note for note in emulator.status().notes)
    (tmp_path / "data" / "inventory.log").unlink()
    with build_components(settings(tmp_path / "data")) as components:
        assert any("inventory.log is missing" in line for line in components.damage)


def write_other_log(packed: Path, count: int = 1) -> bytes:
    """Write the segment's log as a version would that does not see compressed ones."""
    other = packed.parent / "other"
    records = Segments(other)
    for _ in range(count):
        records.append(b"{}\n", 1, 2, 1_700_000_000_000)
    records.close()
    written = next(other.glob("*.log")).read_bytes()
    segment(packed, ".log").write_bytes(written)
    return written


def test_two_files_of_one_segment_that_differ_are_both_put_aside(packed: Path) -> None:
    """Neither is overwritten, the start and the status say so, and either can be moved back."""
    log, whole = write_other_log(packed), segment(packed, ".packed").read_bytes()
    with embedded(settings(packed)) as emulator:
        assert read(emulator.components) == []
        put(emulator.components, 5, first=1000)
        lines = [line for line in emulator.components.damage if "was put aside as" in line]
        assert len(lines) == 2
        assert any("it has 1 record," in line and "has 400" in line for line in lines)
    aside = {path.suffix: path for path in (packed / "put-aside").rglob("*") if path.is_file()}
    assert (aside[".log"].read_bytes(), aside[".packed"].read_bytes()) == (log, whole)
    with embedded(settings(packed)) as emulator:
        assert emulator.components.damage == []
        assert any("2 files" in note and "put-aside" in note for note in emulator.status().notes)
    aside[".packed"].rename(segment(packed, ".packed"))
    with embedded(settings(packed)) as emulator:
        assert read(emulator.components) == [*range(400), *range(1000, 1005)]
        shutil.rmtree(packed / "put-aside")
        assert not any("put-aside" in note for note in emulator.status().notes)


def test_numbers_of_what_was_put_aside_are_not_given_again(packed: Path) -> None:
    """A reader that had read all goes on with what comes next."""
    with build_components(settings(packed)) as components:
        last = components.streams.read("input", SHARD, None, 1000, components.home)[-1].sequence_number
    write_other_log(packed)
    with build_components(settings(packed)) as components:
        put(components, 1, first=77)
        found = components.streams.read("input", SHARD, last, 10, components.home)
        assert [int(each.data) for each in found] == [77]


@pytest.mark.parametrize("left", ["the same", "longer", "empty", "torn"])
def test_of_two_files_the_one_that_has_all_is_kept(left: str, packed: Path, tmp_path: Path) -> None:
    """As a process leaves them that dies while it compresses, or a machine that loses power then."""
    log, line = (tmp_path / "log").read_bytes(), b"{}\n"
    more = frames.header(line, size=2, ordinal=401, arrival=1_700_000_000_000) + line
    written = {"the same": log, "longer": log + more, "empty": b"", "torn": log[:9000] + bytes(500)}[left]
    segment(packed, ".log").write_bytes(written)
    with build_components(settings(packed)) as components:
        assert components.damage == []
    with build_components(settings(packed)) as components:
        assert components.damage == []
        (shard,) = (view.shards[0] for view in components.streams.streams(components.home))
        assert components.streams.unread("input", shard, None) == (401 if left == "longer" else 400)
    assert describe_put_aside(packed) is None


def test_a_compressed_file_that_cannot_be_read_is_put_aside_where_the_log_is_there(
    packed: Path, tmp_path: Path
) -> None:
    """All records are served, and the start says what it did."""
    shutil.copyfile(tmp_path / "log", segment(packed, ".log"))
    raw = bytearray(segment(packed, ".packed").read_bytes())
    raw[50] ^= 1
    segment(packed, ".packed").write_bytes(raw)
    with build_components(settings(packed)) as components:
        assert read(components) == [*range(400)]
        assert sum("was put aside as" in line for line in components.damage) == 1
