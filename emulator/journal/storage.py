"""Where bytes are stored: in a file, in one without a name, or in memory for a sandbox that keeps nothing."""

from __future__ import annotations

import errno
import os
import resource
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Protocol

from emulator.journal import frames
from emulator.journal.inventory import sync_names
from emulator.machine.durable_data import sync_data
from emulator.machine.private_files import FILE_MODE, make_directory


class Storage(Protocol):
    """Bytes that are appended at the end and read at any position."""

    @property
    def end(self) -> int: ...
    def append(self, parts: list[bytes]) -> None: ...
    def read(self, position: int, length: int) -> bytes: ...
    def sync(self) -> None: ...
    def close(self) -> None: ...
    def delete(self) -> None: ...


class FileStorage:
    """Bytes in a file. The file is opened when it is used, and can be closed at any time between two uses."""

    def __init__(self, path: Path, end: int) -> None:
        self.path = path
        self.end = end
        self._descriptor: int | None = None
        # An earlier process may have died before its name was on the disk.
        self._named = False
        self._deleted = False

    def append(self, parts: list[bytes]) -> None:
        """Write ``parts`` at the end. OSError leaves the file as it was."""
        descriptor = self._descriptor
        if descriptor is None:
            descriptor = self.descriptor()
        self.end = frames.write_all(descriptor, parts, self.end)

    def read(self, position: int, length: int) -> bytes:
        return os.pread(self.descriptor(), min(length, self.end - position), position)

    def sync(self) -> None:
        """Return when everything appended so far survives loss of power, and the file's name does too.

        Callable on any thread, while others use the file.
        """
        try:
            # Of its own: the other may be closed meanwhile.
            descriptor = os.open(self.path, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            if self._deleted:
                return
            raise
        try:
            sync_data(descriptor)
        finally:
            os.close(descriptor)
        if not self._named:
            sync_names(self.path)
            self._named = True

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def delete(self) -> None:
        self._deleted = True
        self.close()
        self.path.unlink(missing_ok=True)

    def descriptor(self) -> int:
        """Return the file's descriptor. The file is opened, and created, if it is not open."""
        if self._descriptor is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._descriptor = _open(self.path)
        return self._descriptor


def _open(path: Path) -> int:
    """Open ``path``. At the soft limit of open files, raise that to the hard limit and try again."""
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
    try:
        return os.open(path, flags, FILE_MODE)
    except OSError as error:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if error.errno != errno.EMFILE or soft == hard:
            raise
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        return os.open(path, flags, FILE_MODE)


class UnnamedFile:
    """Bytes in a file of ``directory`` without a name: it is gone when the process ends in whatever way."""

    def __init__(self, directory: Path | None) -> None:
        if directory is not None:
            make_directory(directory)
        self._file: IO[bytes] = TemporaryFile(buffering=0, prefix="rdss-sandbox-", dir=directory)  # noqa: SIM115
        self.end = 0

    def __del__(self) -> None:
        self._file.close()

    def append(self, parts: list[bytes]) -> None:
        """Write ``parts`` at the end. OSError leaves the file as it was."""
        self.end = frames.write_all(self._file.fileno(), parts, self.end)

    def read(self, position: int, length: int) -> bytes:
        return os.pread(self._file.fileno(), length, position)

    def sync(self) -> None:
        """Do nothing: it does not survive the process."""

    def close(self) -> None:
        self._file.close()

    def delete(self) -> None:
        self._file.close()


class MemoryStorage:
    """Bytes that end with the process."""

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
        """Do nothing: memory does not survive anyway."""

    def close(self) -> None:
        """Do nothing: a segment in memory stays readable until it is deleted."""

    def delete(self) -> None:
        self._bytes = bytearray()
