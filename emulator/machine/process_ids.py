"""Process ids of this machine, with what tells a process from a later one with the same id."""

from __future__ import annotations

from pathlib import Path


def start_time(pid: int) -> str | None:
    """When the process was started, in clock ticks since the machine's start; None when unknown."""
    fields = _stat(pid)
    return fields[19] if fields else None


def state(pid: int) -> str | None:
    """The letter of the process's state, such as T for a stopped one; None when unknown."""
    fields = _stat(pid)
    return fields[0] if fields else None


def _stat(pid: int) -> list[str]:
    """The fields of proc_pid_stat(5) from the third on; empty on machines without /proc."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
