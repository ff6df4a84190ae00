"""An append-only log of payloads at positions."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

from isal.isal_zlib import crc32

from emulator.journal import frames
from emulator.journal.frames import DamagedLogError
from emulator.journal.inventory import inventory_of
from emulator.journal.storage import sync_folders
from emulator.machine.private_files import FILE_MODE

_COPIED_BYTES = 1 << 20


class Log:
    """Payloads in the order they were appended; a position is the byte at which one starts.

    Positions stay what they are when what is in front of them is forgotten, until the log is opened again.
    What ``append`` has returned for survives ``kill -9``, and loss of power
    when made with ``fsync``. A torn tail is cut when the log is opened and
    counted in ``torn_bytes``; damage raises ``DamagedLogError``.
    """

    def __init__(self, path: Path, *, fsync: bool = False) -> None:
        self.path = path
        self._fsync = fsync
        self._lock = threading.Lock()
        path.parent.mkdir(parents=True, exist_ok=True)
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
        self._begin = self._end = 0
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
            parts = [frames.header(payload), payload]
            end = frames.write_all(self._descriptor, parts, position - self._begin)
            if self._fsync:
                os.fdatasync(self._descriptor)
            self._end = end + self._begin
        if not self._listed:
            self._list()
        return position

    def entries(self, start: int = 0) -> Iterator[tuple[int, bytes]]:
        """Every (position, payload) from the position ``start`` on, up to what is there now."""
        end = self._end
        while max(start, self._begin) < end:
            frame, payload = self._frame(start)
            yield frame.position, payload
            start = frame.end

    def read(self, position: int) -> bytes:
        """The payload at ``position``. Raises ``DamagedLogError`` when none starts there or it is damaged."""
        frame, payload = self._frame(position)
        if frame.position != position:
            raise DamagedLogError(self.path, 0, f"the entry {position} was removed")
        return payload

    def forget(self, before: int) -> None:
        """Remove the entries in front of the position ``before``. OSError leaves the log as it was.

        What is kept is copied into a new file, most of it while entries can be appended.
        """
        draft = self.path.with_suffix(".draft")
        descriptor = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, FILE_MODE)
        try:
            copied = self._copy(descriptor, before, before)
            os.fsync(descriptor)
            with self._lock:
                copied = self._copy(descriptor, before, copied)
                os.fdatasync(descriptor)
                draft.replace(self.path)
                os.close(self._descriptor)
                self._descriptor, self._begin = descriptor, before
        except OSError:
            os.close(descriptor)
            draft.unlink(missing_ok=True)
            raise
        if self._fsync:
            sync_folders(self.path, levels=1)

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
        with self._lock:
            begin, position = self._begin, max(position, self._begin)
            top = os.pread(self._descriptor, frames.HEADER_BYTES, position - begin)
            frame = frames.parse(top, position)
            payload = os.pread(self._descriptor, frame.length, frame.start - begin) if frame else b""
        if frame is None:
            raise DamagedLogError(self.path, position - begin, "no entry starts here")
        if crc32(payload) != frame.check:
            raise DamagedLogError(self.path, position - begin, "an entry does not match its checksum")
        return frame, payload

    def _copy(self, descriptor: int, before: int, start: int) -> int:
        """Copy what is there from ``start`` on to where it belongs in a file that begins at ``before``."""
        while start < self._end:
            piece = os.pread(self._descriptor, min(_COPIED_BYTES, self._end - start), start - self._begin)
            frames.write_all(descriptor, [piece], start - before)
            start += len(piece)
        return start
