"""Room on the disk that is kept for what makes room: a deletion is written down before it frees anything."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

from emulator.machine.private_files import FILE_MODE

NAME: Final = "reserve"
_BYTES: Final = 1 << 20
_PIECE_BYTES: Final = 1 << 17
_PLENTY_BYTES: Final = 16 << 20
_T = TypeVar("_T")


class Reserve:
    """The file ``reserve`` in the data directory ``root``; ``spending_reserve`` finds it until ``close``.

    It holds nothing. A file system that cannot set room aside has none of it. Thread-safe.
    """

    def __init__(self, root: Path) -> None:
        self.root = root.absolute()
        self._path = root / NAME
        self._lock = threading.Lock()
        self._left = 0
        self._fill()
        _opened.append(self)

    def spend(self) -> bool:
        """Give a piece of the room to whoever writes next; False when nothing is left."""
        with self._lock:
            if self._left <= 0:
                return False
            self._left -= _PIECE_BYTES
            with suppress(OSError):
                os.truncate(self._path, self._left)
            return True

    def refill(self) -> None:
        """Set the room aside again where some was spent and the disk has plenty."""
        if self._left < _BYTES:
            with self._lock, suppress(OSError):
                if shutil.disk_usage(self.root).free > _PLENTY_BYTES:
                    self._fill()

    def close(self) -> None:
        """Leave the file to the next process."""
        _opened.remove(self)

    def _fill(self) -> None:
        with suppress(OSError):
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
            try:
                if hasattr(os, "posix_fallocate"):
                    os.posix_fallocate(descriptor, 0, _BYTES)
                else:
                    os.pwrite(descriptor, bytes(_BYTES), 0)
            finally:
                self._left = os.fstat(descriptor).st_size
                os.close(descriptor)


_opened: Final[list[Reserve]] = []


def reserve_of(path: Path) -> Reserve | None:
    """The reserve of the data directory that ``path`` lies in; None when it has none."""
    where = path.absolute()
    return next((each for each in _opened if where.is_relative_to(each.root)), None)


def spending_reserve(path: Path, write: Callable[[], _T]) -> _T:
    """Do ``write``, which writes at ``path`` that something is gone; on a full disk with the reserve.

    Raises the OSError of ``write`` when that does not help either. It must leave all as it was then.
    """
    reserve = reserve_of(path)
    while True:
        try:
            return write()
        except OSError as error:
            if not no_space(error) or reserve is None or not reserve.spend():
                raise


_ERRNOS: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
_CODES: Final = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR})
"""SQLite reports an I/O error when it cannot make one of its files longer."""


def no_space(error: Exception) -> bool:
    """Whether ``error`` says that the disk, or the user's quota of it, is full."""
    if isinstance(error, sqlite3.OperationalError):
        return error.sqlite_errorcode & 0xFF in _CODES
    return isinstance(error, OSError) and error.errno in _ERRNOS
