"""An append-only log of payloads at positions."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

from isal.isal_zlib import crc32

from emulator.journal import frames
from emulator.journal.frames import DamagedLog
from emulator.journal.inventory import inventory_of
from emulator.journal.storage import sync_folders
from emulator.private_files import FILE_MODE


class Log:
    """Payloads in the order they were appended; a position is the byte at which one starts.

    What ``append`` has returned for survives ``kill -9``, and loss of power
    when made with ``fsync``. A torn tail is cut when the log is opened and
    counted in ``torn_bytes``; damage raises ``DamagedLog``.
    """

    def __init__(self, path: Path, *, fsync: bool = False) -> None:
        self.path = path
        self._fsync = fsync
        self._lock = threading.Lock()
        path.parent.mkdir(parents=True, exist_ok=True)
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
        self._end = 0
        try:
            for frame in frames.scan(self._descriptor, path):
                self._end = frame.end
            self.torn_bytes = os.fstat(self._descriptor).st_size - self._end
            os.ftruncate(self._descriptor, self._end)
            if fsync:
                sync_folders(path, levels=2)
        except BaseException:
            os.close(self._descriptor)
            raise
        self._listed = False
        self._list()

    def append(self, payload: bytes) -> int:
        """Keep ``payload`` and return its position. OSError leaves the log as it was."""
        with self._lock:
            position = self._end
            end = frames.write_all(self._descriptor, [frames.header(payload), payload], position)
            if self._fsync:
                os.fdatasync(self._descriptor)
            self._end = end
        if not self._listed:
            self._list()
        return position

    def entries(self, start: int = 0) -> Iterator[tuple[int, bytes]]:
        """Every (position, payload) from the position ``start`` on, up to what is there now."""
        end = self._end
        while start < end:
            frame, payload = self._frame(start)
            yield start, payload
            start = frame.end

    def read(self, position: int) -> bytes:
        """The payload at ``position``. Raises ``DamagedLog`` when none starts there or it is damaged."""
        return self._frame(position)[1]

    def close(self) -> None:
        """Give the file back; the log cannot be used afterwards."""
        os.close(self._descriptor)

    def _list(self) -> None:
        """Have it missed if it is lost, and if it holds anything. A draft is nobody's yet."""
        self._listed = self._end > 0
        inventory = inventory_of(self.path)
        if inventory is not None and self.path.suffix == ".log":
            (inventory.began if self._listed else inventory.ended)(self.path)

    def _frame(self, position: int) -> tuple[frames.Frame, bytes]:
        frame = frames.parse(os.pread(self._descriptor, frames.HEADER_BYTES, position), position)
        if frame is None:
            raise DamagedLog(self.path, position, "no entry starts here")
        payload = os.pread(self._descriptor, frame.length, frame.start)
        if crc32(payload) != frame.check:
            raise DamagedLog(self.path, position, "an entry does not match its checksum")
        return frame, payload
