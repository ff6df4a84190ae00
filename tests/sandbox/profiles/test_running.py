"""The sandbox that is written down: found while it runs, never confused with another process."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from emulator.machine import process_ids
from sandbox.profiles import running
from sandbox.profiles.running import Running


def described(pid: int, born: str | None = None) -> Running:
    return Running(
        aws="http://127.0.0.1:1",
        control="http://127.0.0.1:2",
        amqp=None,
        pid=pid,
        profile="embedded",
        seed=1,
        region="us-east-1",
        data_dir="data",
        token="secret",
        born=born or process_ids.start_time(pid),
    )


def test_what_runs_is_found(tmp_path: Path) -> None:
    """Written, found, removed."""
    mine = described(os.getpid())
    running.write(mine, tmp_path)

    assert running.find(tmp_path) == mine
    running.remove(mine.pid, tmp_path)
    assert running.read(tmp_path) is None


def test_the_token_is_for_this_user_alone(tmp_path: Path) -> None:
    """The file cannot be read by others."""
    running.write(described(os.getpid()), tmp_path)

    assert stat.S_IMODE(running.place(tmp_path).stat().st_mode) == 0o600


def test_a_process_that_ended_is_not_found(tmp_path: Path) -> None:
    """Neither when it is gone nor while its parent has not noticed."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    running.write(described(process.pid), tmp_path)
    assert running.find(tmp_path) is not None

    assert process.stdin is not None
    process.stdin.close()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert running.find(tmp_path) is None
    process.wait()
    assert running.find(tmp_path) is None
    assert running.read(tmp_path) is not None


@pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="this machine does not tell when a process began"
)
def test_another_process_with_the_same_pid_is_not_it(tmp_path: Path) -> None:
    """Pids are given again after a while; the start of the process tells them apart."""
    running.write(described(os.getpid(), born="1"), tmp_path)

    assert running.find(tmp_path) is None


def test_another_sandboxs_entry_is_left_alone(tmp_path: Path) -> None:
    """A process removes only what it wrote."""
    running.write(described(os.getpid()), tmp_path)
    running.remove(os.getpid() + 1, tmp_path)

    assert running.find(tmp_path) is not None


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"pid": "x"}', b"\xff"])
def test_a_file_that_cannot_be_read_is_none(tmp_path: Path, content: bytes) -> None:
    """Rubbish is not a sandbox."""
    place = running.place(tmp_path)
    place.parent.mkdir()
    place.write_bytes(content)

    assert running.read(tmp_path) is None


def test_what_is_written_is_what_up_prints(tmp_path: Path) -> None:
    """One JSON object with the fields that scripts rely on."""
    running.write(described(os.getpid()), tmp_path)

    found = msgspec.json.decode(running.place(tmp_path).read_bytes())
    assert {"aws", "control", "amqp", "pid"} <= found.keys()
