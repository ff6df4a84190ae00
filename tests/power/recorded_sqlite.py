"""SQLite's files on a recorded disk: a layer between SQLite and the system, by which it opens what it writes.

Of the index of a write-ahead log (``-shm``) nothing is recorded: SQLite makes it again.
"""

from __future__ import annotations

import _sqlite3
import ctypes
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

from tests.power.recorded_disk import RecordedDisk

_NAME: Final = b"recorded"
_CREATE, _WAL, _JOURNALS = 0x4, 0x80000, 0x80000 | 0x800 | 0x4000
_FAILED: Final = 10
"""SQLITE_IOERR."""
_P, _I, _L = ctypes.c_void_p, ctypes.c_int, ctypes.c_longlong
# The name stays a pointer: SQLite keeps it for as long as the file is open.
_OPEN: Final = ctypes.CFUNCTYPE(_I, _P, _P, _P, _I, _P)
_DELETE: Final = ctypes.CFUNCTYPE(_I, _P, ctypes.c_char_p, _I)
_CLOSE: Final = ctypes.CFUNCTYPE(_I, _P)
_WRITE: Final = ctypes.CFUNCTYPE(_I, _P, _P, _I, _L)
_TRUNCATE: Final = ctypes.CFUNCTYPE(_I, _P, _L)
_SYNC: Final = ctypes.CFUNCTYPE(_I, _P, _I)


class _Vfs(ctypes.Structure):
    """``sqlite3_vfs`` as far as it is changed, and the rest of its 22 words."""

    _fields_ = (
        ("version", _I),
        ("file_bytes", _I),
        ("longest_path", _I),
        ("following", _P),
        ("name", ctypes.c_char_p),
        ("data", _P),
        ("open", _P),
        ("delete", _P),
        ("others", _P * 14),
    )


class _Methods(ctypes.Structure):
    """``sqlite3_io_methods``."""

    _fields_ = (
        ("version", _I),
        ("close", _P),
        ("read", _P),
        ("write", _P),
        ("truncate", _P),
        ("sync", _P),
        ("others", _P * 13),
    )


@contextmanager
def recording_sqlite(disk: RecordedDisk) -> Iterator[None]:
    """Have connections that are opened in the block write to the recorded disk, while it is recording."""
    library: Any = ctypes.CDLL(_sqlite3.__file__)
    library.sqlite3_vfs_find.restype = _P
    library.sqlite3_vfs_register.argtypes = (_P, _I)
    library.sqlite3_vfs_unregister.argtypes = (_P,)
    usual = ctypes.cast(library.sqlite3_vfs_find(None), ctypes.POINTER(_Vfs))
    layer = _Layer(disk, usual)
    # A connection that nobody closes is closed by the garbage collector, at any time.
    _layers.append(layer)
    own = ctypes.addressof(layer.vfs)
    library.sqlite3_vfs_register(own, 1)
    try:
        yield
    finally:
        library.sqlite3_vfs_unregister(own)
        library.sqlite3_vfs_register(ctypes.cast(usual, _P), 1)


_layers: Final[list[object]] = []


class _Layer:
    """What SQLite calls in the place of the system's functions; each call goes on to those."""

    def __init__(self, disk: RecordedDisk, usual: Any) -> None:
        self._disk = disk
        self._usual = usual
        self._paths: dict[int, str] = {}
        self._unnamed: set[str] = set()
        self._held: list[object] = []
        self.vfs = _Vfs.from_buffer_copy(usual.contents)
        self.vfs.name = _NAME
        self.vfs.open = self._hold(_OPEN, self._open)
        self.vfs.delete = self._hold(_DELETE, self._delete)

    def _hold(self, kind: Any, function: Callable[..., int]) -> Any:
        # The garbage collector must not take what only SQLite refers to.
        made = kind(function)
        self._held.append(made)
        return ctypes.cast(made, _P)

    def _open(self, _vfs: int, name: int | None, file: int, flags: int, out: int | None) -> int:
        result = _OPEN(self._usual.contents.open)(ctypes.cast(self._usual, _P), name, file, flags, out)
        if result or name is None:
            return result
        path = os.fsdecode(ctypes.string_at(name))
        if self._disk.note_open(path) and flags & _JOURNALS:
            self._unnamed.add(path)
        self._paths[file] = path
        self._replace_methods(file)
        return 0

    def _replace_methods(self, file: int) -> None:
        """Have what is done with a file that was opened come here first."""
        pointer = ctypes.cast(file, ctypes.POINTER(_P))
        usual = _Methods.from_address(pointer[0])
        own = _Methods.from_buffer_copy(usual)
        self._held.append(own)
        own.close = self._hold(_CLOSE, partial(self._close, usual))
        own.write = self._hold(_WRITE, partial(self._write, usual))
        own.truncate = self._hold(_TRUNCATE, partial(self._truncate, usual))
        own.sync = self._hold(_SYNC, self._sync)
        pointer[0] = ctypes.addressof(own)

    def _close(self, usual: Any, file: int) -> int:
        del self._paths[file]
        return int(_CLOSE(usual.close)(file))

    def _write(self, usual: Any, file: int, data: int, length: int, offset: int) -> int:
        if not self._disk.note_write(self._paths[file], ctypes.string_at(data, length), offset):
            return _FAILED
        return int(_WRITE(usual.write)(file, data, length, offset))

    def _truncate(self, usual: Any, file: int, size: int) -> int:
        if not self._disk.note_truncate(self._paths[file], size):
            return _FAILED
        return int(_TRUNCATE(usual.truncate)(file, size))

    def _sync(self, file: int, _flags: int) -> int:
        path = self._paths[file]
        if not self._disk.note_sync(path):
            return _FAILED
        # The first flush of a new journal is one of its folder, too (os_unix.c, unixSync).
        if path in self._unnamed:
            self._unnamed.discard(path)
            return 0 if self._disk.note_sync(str(Path(path).parent)) else _FAILED
        return 0

    def _delete(self, _vfs: int, name: bytes, sync: int) -> int:
        result = _DELETE(self._usual.contents.delete)(ctypes.cast(self._usual, _P), name, sync)
        path = os.fsdecode(name)
        if not result and self._disk.note_unlink(path) and sync:
            self._disk.note_sync(str(Path(path).parent))
        return result
