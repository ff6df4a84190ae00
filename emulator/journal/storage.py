"""Where the bytes of a segment lie: in a file, or in memory for a sandbox that keeps nothing."""

from __future__ import annotations

import errno
import os
import resource
from pathlib import Path
from typing import Protocol

from emulator.journal import frames
from emulator.machine.private_files import FILE_MODE


class Storage(Protocol):
    """Bytes that grow at the end and are read anywhere."""

    @property
    def end(self) -> int: ...
    def append(self, parts: list[bytes]) -> None: ...
    def read(self, position: int, length: int) -> bytes: ...
    def sync(self) -> None: ...
    def close(self) -> None: ...
    def delete(self) -> None: ...


class FileStorage:
    """Bytes in a file. The file is opened when it is touched and can be closed at any time in between."""

    def __init__(self, path: Path, end: int) -> None:
        self.path = path
        self.end = end
        self._descriptor: int | None = None
        self._new = not end
        self._deleted = False

    def append(self, parts: list[bytes]) -> None:
        """Write ``parts`` at the end; OSError leaves nothing of them behind."""
        self.end = frames.write_all(self.descriptor(), parts, self.end)

    def read(self, position: int, length: int) -> bytes:
        return os.pread(self.descriptor(), min(length, self.end - position), position)

    def sync(self) -> None:
        """Return when everything appended so far survives loss of power, the file's name with it."""
        if self._deleted:
            return
        os.fdatasync(self.descriptor())
        if self._new:
            sync_folders(self.path, levels=3)
            self._new = False

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def delete(self) -> None:
        self._deleted = True
        self.close()
        self.path.unlink(missing_ok=True)

    def descriptor(self) -> int:
        """The open file."""
        if self._descriptor is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._descriptor = _open(self.path)
        return self._descriptor


def sync_folders(path: Path, *, levels: int) -> None:
    """Return when the name of ``path``, and of ``levels - 1`` folders above it, survive loss of power."""
    for folder in path.parents[:levels]:
        descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _open(path: Path) -> int:
    """Open ``path``; where the process may not have more open files, let it have all it is allowed."""
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
    try:
        return os.open(path, flags, FILE_MODE)
    except OSError as error:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if error.errno != errno.EMFILE or soft == hard:
            raise
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        return os.open(path, flags, FILE_MODE)


class MemoryStorage:
    """Bytes that are gone with the process."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    @property
    def end(self) -> int:
        return len(self._bytes)

    def append(self, parts: list[bytes]) -> None:
        for part in parts:
            self._bytes += part

    def read(self, position: int, length: int) -> bytes:
        return bytes(memoryview(self._bytes)[position : position + length])

    def sync(self) -> None:
        """Nothing to do: nothing here survives."""

    def close(self) -> None:
        """Nothing to do: a segment in memory stays readable until it is deleted."""

    def delete(self) -> None:
        self._bytes = bytearray()
