"""A parent-death watchdog: child processes end when this process ends, even when it is killed."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

_SCRIPT = 'read -r _; kill -s CONT "$@"; kill -s TERM "$@"'
# The first sweep can miss a process that is just being started.
_MARKED_SCRIPT = """\
read -r _
for _ in 1 2 3; do
  grep -laFs "$1" /proc/[0-9]*/environ | while IFS=/ read -r _ _ pid _; do kill -s KILL "$pid"; done
done
"""
_DIRECTORY_SCRIPT = """\
read -r _
tries=100
while [ "$tries" -gt 0 ] && kill -s 0 "$2"; do sleep 0.1; tries=$((tries - 1)); done
rm -rf "$1"
"""


def start_watchdog(*pids: int) -> subprocess.Popen[bytes]:
    """Start a shell that terminates ``pids`` when this process ends; ``stop_watchdog`` ends it first."""
    return _start(_SCRIPT, *map(str, pids))


def start_mark_watchdog(mark: str) -> subprocess.Popen[bytes]:
    """Start a shell that kills what has ``mark`` in its environment when this process ends (Linux only)."""
    return _start(_MARKED_SCRIPT, mark)


def start_directory_watchdog(directory: str, pid: int) -> subprocess.Popen[bytes]:
    """Start a shell that removes ``directory`` when this process and ``pid`` have ended, or 10 s later."""
    return _start(_DIRECTORY_SCRIPT, directory, str(pid))


def _start(script: str, *arguments: str) -> subprocess.Popen[bytes]:
    # The shell waits for the end of its input, which the kernel closes with this process. It has its own
    # session, so a signal to our process group does not reach it.
    return subprocess.Popen(
        ["sh", "-c", script, "watchdog", *arguments],
        # Without the mark of an outer command, whose end kills what carries it: this must outlive that.
        env={"PATH": os.environ.get("PATH", os.defpath)},
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def stop_watchdog(shell: subprocess.Popen[bytes]) -> None:
    """End the watchdog; the processes that it watched go on."""
    shell.kill()
    shell.communicate()


@contextmanager
def watchdog(*pids: int) -> Iterator[None]:
    """Watch the processes while the context lasts."""
    with stopping(start_watchdog(*pids)):
        yield


@contextmanager
def stopping(shell: subprocess.Popen[bytes]) -> Iterator[None]:
    """Stop a watchdog at the end of the context."""
    try:
        yield
    finally:
        stop_watchdog(shell)
