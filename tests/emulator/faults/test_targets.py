"""What the faults kill and pause may strike, and what they leave alone."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from emulator.assembly.embedded import Embedded, embedded
from emulator.faults.fault import FaultRefusedError
from emulator.faults.targets import TargetProcess, parse_targets
from emulator.settings.setting_errors import SettingsError
from emulator.settings.settings import Settings
from rdss_sandbox.shapes.faults import NewFault
from tests.waiting import wait_until


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "60"]) as process:
        yield process
        process.kill()


@contextmanager
def sandbox(*targets: str) -> Iterator[Embedded]:
    settings = Settings(aws_port=0, control_port=0, data_dir=None, targets=targets)
    with embedded(settings) as running:
        yield running


def kill(running: Embedded, target: str) -> None:
    running.components.fault_engine.add(NewFault("kill", attributes={"target": target}, limit=1))


def failure(running: Embedded) -> str:
    """What the first fault says that failed."""
    events = running.components.events
    failed = wait_until(lambda: [each for each in events.since() if each.kind == "fault.failed"])
    return str(failed[0].fields)


@pytest.mark.parametrize("type_", ["kill", "pause", "isolate"])
def test_a_process_that_nobody_named_is_not_struck(sleeper: subprocess.Popen[bytes], type_: str) -> None:
    """By no way of writing its id; the sandbox itself and its parent are as safe."""
    with sandbox() as running:
        for target in (sleeper.pid, os.getpid(), os.getppid(), 1, 0, -1, -sleeper.pid):
            for written in (f"{target}", f" {target}", f"0{target}", f"+{target}"):
                with pytest.raises(FaultRefusedError, match="--target NAME=PID"):
                    running.components.fault_engine.add(NewFault(type_, attributes={"target": written}))
    assert sleeper.poll() is None


@pytest.mark.parametrize("by", ["name", "pid"])
def test_a_process_that_was_named_at_the_start_is(sleeper: subprocess.Popen[bytes], by: str) -> None:
    """By its name or its id."""
    with sandbox(f"app={sleeper.pid}") as running:
        kill(running, "app" if by == "name" else str(sleeper.pid))
        assert sleeper.wait(60) == -signal.SIGKILL


def test_a_file_names_the_process_when_it_is_struck(sleeper: subprocess.Popen[bytes], tmp_path: Path) -> None:
    """So that a server can be named that is started after the sandbox."""
    file = tmp_path / "app.pid"
    with sandbox(f"app={file}") as running:
        kill(running, "app")
        assert "names no process" in failure(running)
        running.components.fault_engine.clear()
        file.write_text(f"{sleeper.pid}\n")
        kill(running, "app")
        assert sleeper.wait(60) == -signal.SIGKILL


def test_a_later_process_of_the_same_id_is_spared(sleeper: subprocess.Popen[bytes]) -> None:
    """Ids are given out again."""
    earlier = TargetProcess(sleeper.pid, "1")
    with pytest.raises(ProcessLookupError, match="another's"):
        earlier.kill()
    earlier.resume()
    assert sleeper.poll() is None


@pytest.mark.parametrize(
    ("written", "why"),
    [
        ("app", "give NAME=PID"),
        ("=", "give NAME=PID"),
        ("app=", "give NAME=PID"),
        ("app=1", "this sandbox or the whole machine"),
        ("app=0", "this sandbox or the whole machine"),
        ("app={own}", "this sandbox or the whole machine"),
        ("app=4000000", "cannot be reached"),
        (f"app={10**30}", "cannot be reached"),
    ],
)
def test_a_target_that_cannot_be_stops_the_start(written: str, why: str) -> None:
    """With the value, and what would do."""
    with pytest.raises(SettingsError, match=why), sandbox(written.format(own=os.getpid())):
        pass


def test_a_pid_alone_is_its_own_name(sleeper: subprocess.Popen[bytes]) -> None:
    """For who has no word for it."""
    assert list(parse_targets([str(sleeper.pid)])) == [str(sleeper.pid)]


def test_pause_and_kill_report_what_they_did(sleeper: subprocess.Popen[bytes]) -> None:
    """A pause ends when the fault is removed with everything."""
    with sandbox(f"app={sleeper.pid}") as running:
        running.components.fault_engine.add(
            NewFault("pause", attributes={"target": "app", "lasts": 3600}, limit=1)
        )
        status = Path(f"/proc/{sleeper.pid}/stat")
        if status.exists():
            wait_until(lambda: status.read_text().rpartition(")")[2].split()[0] == "T")
    assert sleeper.poll() is None
