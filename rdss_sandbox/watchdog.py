"""Processes that end with this one, however this one ends."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

_SCRIPT = 'read -r _; kill -s CONT "$@"; kill -s TERM "$@"'


def start_watchdog(*pids: int) -> subprocess.Popen[bytes]:
    """A process that ends those when this one is gone, killed included; ``let_go`` of it in good time."""
    # Its input ends with us. In a session of its own, it is not reached by what ends ours.
    return subprocess.Popen(
        ["sh", "-c", _SCRIPT, "leash", *map(str, pids)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def stop_watchdog(holder: subprocess.Popen[bytes]) -> None:
    """Have nothing happen to the processes any more."""
    holder.kill()
    holder.communicate()


@contextmanager
def watchdog(*pids: int) -> Iterator[None]:
    """The processes are on a leash while the context lasts."""
    holder = start_watchdog(*pids)
    try:
        yield
    finally:
        stop_watchdog(holder)
