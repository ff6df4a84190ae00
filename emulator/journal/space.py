"""Whether it was for want of space that something could not be written."""

from __future__ import annotations

import errno
import sqlite3
from typing import Final

_ERRNOS: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
_CODES: Final = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR})
"""SQLite's own: a file of it that cannot be made longer is an error of input and output."""


def no_space(error: Exception) -> bool:
    """Whether the disk is full, or this user's part of it."""
    if isinstance(error, sqlite3.OperationalError):
        return error.sqlite_errorcode & 0xFF in _CODES
    return isinstance(error, OSError) and error.errno in _ERRNOS
