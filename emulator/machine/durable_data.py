"""Puts a file's data on disk, with what the system has for it."""

from __future__ import annotations

import fcntl
import os


def sync_data(descriptor: int) -> None:
    """Return when the data of a file survives loss of power. Raises OSError."""
    if hasattr(os, "fdatasync"):
        os.fdatasync(descriptor)
    elif hasattr(fcntl, "F_FULLFSYNC"):  # On macOS, fsync(2) leaves the data in the drive's cache.
        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
    else:
        os.fsync(descriptor)
