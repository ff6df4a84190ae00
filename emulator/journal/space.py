"""Errors that mean that the disk is full."""

from __future__ import annotations

import errno
import sqlite3
from typing import Final

_ERRNOS: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
_CODES: Final = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR})
"""SQLite reports an I/O error when it cannot make one of its files longer."""


def no_space(error: Exception) -> bool:
    """Whether ``error`` says that the disk, or the user's quota of it, is full."""
    if isinstance(error, sqlite3.OperationalError):
        return error.sqlite_errorcode & 0xFF in _CODES
    return isinstance(error, OSError) and error.errno in _ERRNOS
