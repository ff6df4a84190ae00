"""A damaged data directory: one line that says which file, and a command that makes it readable again."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from os import urandom
from pathlib import Path
from typing import Any

import pytest

from emulator.assembly.components import build_components
from emulator.journal import Log
from emulator.settings.settings import Settings
from rdss_sandbox.installed_extensions import list_ports
from rdss_sandbox.shapes.topology import Topology

Run = Callable[..., Any]
QUIET = (
    "--aws-port",
    "0",
    "--control-port",
    "0",
    *(word for name, _ in list_ports() for word in (f"--{name}-port", "0")),
    "--amqp",
    "none",
)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data directory with some events."""
    folder = tmp_path / ".sandbox" / "data"
    with build_components(Settings(data_dir=folder)) as parts:
        for number in range(20):
            parts.events.emit("test.happened", number=number)
    return folder


def flip(path: Path, position: int) -> None:
    raw = bytearray(path.read_bytes())
    raw[position] ^= 1
    path.write_bytes(raw)


def happened(folder: Path) -> list[int]:
    log = Log(folder / "events.log")
    events = [json.loads(payload) for _, payload in log.entries()]
    log.close()
    return [event["fields"]["number"] for event in events if event["kind"] == "test.happened"]


def test_one_bad_byte_does_not_stop_the_start_for_good(data: Path, process: Run) -> None:
    """Refused in one line with exit code 3; after a repair, which says what it did, it starts."""
    path = data / "events.log"
    raw = path.read_bytes()
    flip(path, raw.index(b'"number":7') + 3)
    for arguments in (("up", *QUIET), ("up", *QUIET, "--detach")):
        refused = process(*arguments)
        assert refused.code == 3
        (line,) = refused.err.splitlines()
        assert "events.log is damaged at byte" in line
        assert "sandbox repair" in line
    said = process("repair", "--dry-run")
    assert (said.code, said.err) == (0, "")
    assert "entries would be kept" in said.out
    assert path.read_bytes() != raw
    done = process("repair", "--json")
    (repaired,) = json.loads(done.out)["repairs"]
    assert repaired["position"] < raw.index(b'"number":7')
    assert repaired["kept"] >= 19
    assert Path(repaired["put_aside"]).stat().st_size == len(raw)
    assert happened(data) == [number for number in range(20) if number != 7]
    up = process("up", *QUIET, "--detach", "--json")
    assert (up.code, up.err) == (0, "")


@pytest.mark.parametrize("options", [(), ("--data-dir", ".sandbox/data")])
def test_the_default_directory_is_repaired_where_streams_share_a_damaged_file(
    options: tuple[str, ...], tmp_path: Path, process: Run
) -> None:
    """Each repair is said with what is kept and what is lost; the status reminds of what was put aside."""
    folder = tmp_path / ".sandbox" / "data"
    topology = Topology(streams={"input": 1}, buckets=())
    with build_components(Settings(data_dir=folder, topology=topology)) as parts:
        records = [{"Data": b"%04d" % number + urandom(2000), "PartitionKey": "k"} for number in range(300)]
        parts.streams.call("PutRecords", {"StreamName": "input", "Records": records}, parts.home)
        parts.streams.pack()  # type: ignore[attr-defined]
    (shared,) = folder.glob("payloads/*.payloads")
    flip(shared, 20_000)
    done = process("repair", *options)
    assert (done.code, done.err) == (0, "")
    segment, payloads, reminder = done.out.splitlines()
    assert ".packed: damaged" in segment
    kept, lost = (int(segment.split(word)[0].split()[-1]) for word in (" entries kept", " lost"))
    assert kept + lost == 300
    assert f"{shared.name}: damaged at byte" in payloads
    assert "sandbox status tells" in reminder
    assert process("up", *QUIET, "--detach").code == 0
    assert any("2 files" in note and "put-aside" in note for note in notes(process))
    shutil.rmtree(folder / "put-aside")
    assert not any("put-aside" in note for note in notes(process))


def notes(process: Run) -> list[str]:
    found: list[str] = json.loads(process("status", "--json").out)["notes"]
    return found


def test_a_directory_of_another_format_is_refused(data: Path, process: Run) -> None:
    """With exit code 3 and a line that names both, by a start and by a repair."""
    (data / "format").write_text('{"format": 9, "version": "3.4.5"}')
    for command in (("up", *QUIET), ("up", *QUIET, "--detach"), ("repair",)):
        refused = process(*command)
        assert refused.code == 3
        (line,) = refused.err.splitlines()
        assert "format 9 of rdss-sandbox 3.4.5" in line
        assert "knows the formats up to 2" in line


def test_a_directory_that_cannot_be_written_is_named(tmp_path: Path, process: Run) -> None:
    """With what the system said, and exit code 3."""
    (tmp_path / "file").write_text("no directory")
    refused = process("up", *QUIET, "--data-dir", "file/data")
    assert refused.code == 3
    assert refused.err.startswith("sandbox: file/data: Not a directory")


def test_what_is_missing_is_said_at_the_start(data: Path, process: Run) -> None:
    """On standard error, in the answer of up, in the notes of the status, and as an event; then no more."""
    (data / "streams" / "state.log").write_bytes(b"")
    up = process("up", *QUIET, "--detach", "--json")
    assert up.code == 0
    line = f"{data / 'streams' / 'state.log'} is empty: the names and shards of the streams is gone"
    found = json.loads(up.out)
    assert any(line.endswith(each) for each in found["damage"])
    assert up.err.splitlines() == [f"sandbox: {each}" for each in found["damage"]]
    notes = json.loads(process("status", "--json").out)["notes"]
    assert set(found["damage"]) <= set(notes)
    assert process("down").code == 0
    assert process("up", *QUIET, "--detach", "--json").err == ""


def test_a_repair_of_what_is_well_or_not_there_or_in_use(data: Path, sandbox: Run) -> None:
    well = sandbox("repair", "--data-dir", str(data))
    assert (well.code, well.out) == (0, f"{data}: every file can be read\n")
    missing = sandbox("repair", "--data-dir", "nowhere")
    assert (missing.code, missing.err) == (3, "sandbox: there is no data directory nowhere\n")
    with build_components(Settings(data_dir=data)):
        used = sandbox("repair", "--data-dir", str(data))
    assert used.code == 3
    assert "is in use by process" in used.err
