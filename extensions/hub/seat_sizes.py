"""What a seat takes of the machine, seen from outside of its process."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def measure_memory(pid: int) -> int:
    """The bytes of memory that a process has for itself (proc_pid_statm(5)); 0 where that is unknown."""
    try:
        _, resident, shared, *_ = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()
    except (OSError, ValueError):
        return 0
    return (int(resident) - int(shared)) * _PAGE_BYTES


def measure_disk(folder: Path) -> int:
    """The bytes of the files in a folder, as the disk has them."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                total += os.lstat(Path(place, name)).st_blocks * 512
    return total
