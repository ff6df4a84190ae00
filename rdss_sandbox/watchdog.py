"""A parent-death watchdog: child processes end when this process ends, even when it is killed."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

_SCRIPT = 'read -r _; kill -s CONT "$@"; kill -s TERM "$@"'


def start_watchdog(*pids: int) -> subprocess.Popen[bytes]:
    """Start a shell that terminates ``pids`` when this process ends; ``stop_watchdog`` ends it first."""
    # The shell waits for the end of its input, which the kernel closes with this process. It has its own
    # session, so a signal to our process group does not reach it.
    return subprocess.Popen(
        ["sh", "-c", _SCRIPT, "watchdog", *map(str, pids)],
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
    shell = start_watchdog(*pids)
    try:
        yield
    finally:
        stop_watchdog(shell)
