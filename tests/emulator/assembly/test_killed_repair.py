"""A repair that is killed, wherever: the next one ends it, and nothing more is lost than without the kill."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from emulator.assembly.components import build_components
from emulator.assembly.damage import describe_put_aside
from emulator.assembly.embedded import embedded
from emulator.assembly.repair import repair
from emulator.journal import DamagedLogError
from tests.emulator.assembly.test_damage import KEEPING, fill, flipped, kept, settings

_KILLED = 86
_REPAIR = f"""
import os, shutil, sys
from pathlib import Path
from emulator.assembly.repair import repair

CHANGES = {{"os.rename", "os.remove", "os.mkdir", "os.link", "os.truncate", "os.rmdir", "sqlite3.connect"}}
WRITING = os.O_CREAT | os.O_WRONLY | os.O_RDWR

def repair_until(left, folder):
    def step(event, given):
        nonlocal left
        if event in CHANGES or (event == "open" and isinstance(given[2], int) and given[2] & WRITING):
            left -= 1
            if left < 0:
                os._exit({_KILLED})

    sys.addaudithook(step)
    for each in repair(folder):
        pass
    os._exit(0)

original, copies = map(Path, sys.argv[1:])
# What a repair imports is imported before the first child: it is none of its steps.
list(repair(shutil.copytree(original, copies / "imported"), dry_run=True))
step = 0
while True:
    folder = copies / str(step) / "data"
    shutil.copytree(original, folder)
    child = os.fork()
    if not child:
        repair_until(step, folder)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(step, code, flush=True)
    if code != {_KILLED}:
        break
    step += 1
"""
"""Each child is killed before its n-th change of a file; what Python still had in buffers is not written."""


@pytest.fixture(scope="module")
def damaged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory in which a byte is wrong in files of each kind: logs, segments, what streams share, a
    database, a checkpoint, a document and the mark."""
    folder = tmp_path_factory.mktemp("damaged") / "data"
    left = folder.parent / "left"
    with embedded(settings(folder)) as emulator:
        fill(emulator)
        for number in range(30):
            record = {"StreamName": "audit", "PartitionKey": "k", "Data": os.urandom(900) + b"%02d" % number}
            emulator.components.streams.call("PutRecord", record, emulator.components.home)
        emulator.components.streams.pack()  # type: ignore[attr-defined]
        fill(emulator)
        shutil.copytree(folder, left)
    database, document = left / "processing.sqlite3", left / "some.json"
    database.write_bytes(b"SQLite format 3\0" + bytes(range(256)) * 40)
    document.write_text('{"never": "finished')
    if (topics := left / "topics" / "messages").exists():
        (topics / "checkpoint").write_bytes(b"no checkpoint")
    (left / "format").write_bytes(b"{")
    wanted = [*left.rglob("*.packed"), *left.rglob("*.payloads")]
    wanted += [path for path in left.glob("streams/streams/*/*/*.log") if path.stat().st_size > 200]
    assert len(wanted) >= 4
    wanted += [left / name for part in KEEPING for name in part.logs]
    for path in wanted:
        flipped(path)
    return left


def contents(folder: Path) -> dict[str, bytes]:
    """Every file beside those that were put aside."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != "lock")
    found = {str(path.relative_to(folder)): path.read_bytes() for path in files}
    return {name: content for name, content in found.items() if not name.startswith("put-aside")}


def aside(folder: Path) -> set[bytes]:
    return {path.read_bytes() for path in (folder / "put-aside").rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def killed(damaged: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A copy of the directory for each step, in which a repair was killed there."""
    copies = tmp_path_factory.mktemp("copies")
    script = [sys.executable, "-c", _REPAIR, str(damaged), str(copies)]
    ran = subprocess.run(script, capture_output=True, text=True, check=True, timeout=300)
    steps = [line.split() for line in ran.stdout.splitlines()]
    assert [code for _, code in steps] == [*[str(_KILLED)] * (len(steps) - 1), "0"], ran.stderr
    assert len(steps) > 40
    return [copies / step / "data" for step, _ in steps]


def test_the_next_repair_ends_what_a_killed_one_began(damaged: Path, killed: list[Path]) -> None:
    """Every file is then as after one that was not killed, and every damaged file as it was is put aside."""
    *early, whole = killed
    hurt = {content for name, content in contents(damaged).items() if contents(whole).get(name) != content}
    assert hurt <= aside(whole)
    for folder in early:
        again = shutil.copytree(folder, folder.parent / "again")
        for _ in repair(again):
            pass
        assert contents(again) == contents(whole), folder
        assert hurt <= aside(again), folder
        assert describe_put_aside(again) is not None
        assert list(repair(again)) == []


@pytest.mark.slow
def test_a_start_after_a_killed_repair_refuses_or_has_what_was_kept(killed: list[Path]) -> None:
    """It never has less than after a whole repair without a word."""
    *early, whole = killed
    with build_components(settings(whole)) as components:
        expected = kept(components)
    for folder in early:
        refused = ""
        try:
            with build_components(settings(folder)) as components:
                now = kept(components)
        except DamagedLogError as error:
            refused = str(error)
        assert "sandbox repair" in refused or now == expected, folder
