"""Blocking work beside the loop."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

from emulator.http.daemon_threads import DaemonThreads


async def test_results_and_errors_come_back() -> None:
    """The work runs on another thread; what it returns or raises is the caller's."""
    threads = DaemonThreads("work", 2)
    assert await threads.run(lambda: threading.current_thread().name) == "work"
    with pytest.raises(ZeroDivisionError):
        await threads.run(lambda: 1 // 0)


def test_work_that_does_not_end_does_not_hold_up_a_stop() -> None:
    """A process whose clients are in a long poll ends at once when it is told to."""
    program = """
import asyncio, threading
from emulator.http.daemon_threads import DaemonThreads

async def main():
    began = asyncio.Event()
    loop = asyncio.get_running_loop()

    def poll():
        loop.call_soon_threadsafe(began.set)
        threading.Event().wait()

    polling = asyncio.ensure_future(DaemonThreads("poll", 1).run(poll))
    await began.wait()
    polling.cancel()

asyncio.run(main())
"""
    assert subprocess.run([sys.executable, "-c", program], timeout=30, check=True).returncode == 0
