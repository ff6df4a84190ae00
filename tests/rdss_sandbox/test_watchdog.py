"""Processes that a watchdog ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from rdss_sandbox.machine.watchdog import watchdog

HOLDING = """
import os, sys
from rdss_sandbox.machine.watchdog import start_watchdog
start_watchdog(int(sys.argv[1]))
os.kill(os.getpid(), 9)
"""


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield process
    if process.poll() is None:
        process.kill()
    process.communicate()


@pytest.mark.parametrize("paused", [False, True])
def test_they_end_with_a_process_that_is_killed(sleeper: subprocess.Popen[bytes], *, paused: bool) -> None:
    """Even when it can tidy up nothing, and they stand still."""
    if paused:
        os.kill(sleeper.pid, signal.SIGSTOP)
    holder = subprocess.run([sys.executable, "-c", HOLDING, str(sleeper.pid)], check=False)
    assert holder.returncode == -signal.SIGKILL
    assert sleeper.wait(60) == -signal.SIGTERM


def test_they_outlive_a_watchdog_that_was_stopped(sleeper: subprocess.Popen[bytes]) -> None:
    """They go on until they end by themselves."""
    with watchdog(sleeper.pid):
        assert sleeper.poll() is None
    sleeper.communicate(b"\n", timeout=60)
    assert sleeper.returncode == 0
