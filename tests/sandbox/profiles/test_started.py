"""A sandbox that somebody starts for as long as it is needed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox.profiles import running
from tests.waiting import wait_until

STARTING = """
import os, sys
from pathlib import Path
from sandbox.profiles import in_process
options = ["--aws-port", "0", "--control-port", "0", "--amqp", "none", "--data-dir", ":memory:"]
with in_process.started(options, Path(sys.argv[1])) as found:
    print(found.pid, flush=True)
    if sys.argv[2] == "killed":
        os.kill(os.getpid(), 9)
"""


def gone(pid: int) -> bool:
    status = Path(f"/proc/{pid}/stat")
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] == "Z"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="a process's state is read from /proc")
def test_it_ends_with_whoever_started_it(tmp_path: Path) -> None:
    """In good order, or killed: nothing keeps running, and nothing is left that says so."""
    for end in ("in order", "killed"):
        started = subprocess.run(
            [sys.executable, "-c", STARTING, str(tmp_path), end], capture_output=True, text=True, check=False
        )
        assert started.returncode == (-9 if end == "killed" else 0), started.stderr
        pid = json.loads(started.stdout)
        wait_until(lambda pid=pid: gone(pid), seconds=30, shown=lambda end=end: end)
        assert running.find(tmp_path) is None
