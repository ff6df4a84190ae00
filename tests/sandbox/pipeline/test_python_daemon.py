"""The processes that Spark's tasks run in."""

from __future__ import annotations

import subprocess
import sys


def test_a_worker_leaves_in_silence_when_the_jvm_has_gone() -> None:
    """The end of a run prints no traceback, and no worker stays behind."""
    script = """
import socket
from sandbox.pipeline.python_daemon import run_task
jvm, worker = socket.socketpair()
jvm.close()
run_task(worker.makefile("rb"), worker.makefile("wb"))
print("stayed")
"""
    ran = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
