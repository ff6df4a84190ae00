"""An append-only log of payloads, each at a position."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

from isal.isal_zlib import crc32

from emulator.journal import frames
from emulator.journal.frames import DamagedLogError
from emulator.journal.inventory import inventory_of, sync_names
from emulator.journal.torn_tails import cut_tail, whole_frames
from emulator.machine.durable_data import sync_data
from emulator.machine.private_files import FILE_MODE
from rdss_sandbox.files.rewriting import put_in_place, rewriting, sync_folders

_COPIED_BYTES = 1 << 20
_READ_BYTES = 1 << 16
_WRITTEN_BYTES = 1 << 20
_FEW_PARTS = 8
OVERGROWN_BYTES: Final = 16 << 20
_GROWTH: Final = 4


class Log:
    """Payloads in the order in which they were appended. A position is the byte where a payload starts.

    ``forget`` does not change the positions of the payloads that stay; opening the log again does.
    A payload survives ``kill -9`` once ``append`` has returned, and loss of power with ``fsync``.
    A torn tail is cut when the log is opened, and counted in ``torn_bytes``. ``needed_bytes`` is how large
    the log would be without what its owner needs no more, as far as that is known.
    Raises ``DamagedLogError`` for anything else that is damaged.
    """

    def __init__(self, path: Path, *, fsync: bool = False) -> None:
        self.path = path
        self.needed_bytes = 0
        self._fsync = fsync
        self._lock = threading.Lock()
        self._sync_lock = threading.Lock()
        path.parent.mkdir(parents=True, exist_ok=True)
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
        self._begin = self._end = 0
        try:
            for frame in whole_frames(self._descriptor, path):
                self._end = frame.end
            self.torn_bytes = cut_tail(self._descriptor, path, self._end)
            if fsync:
                sync_names(path)
        except BaseException:
            os.close(self._descriptor)
            raise
        self._in_inventory = False
        self._update_inventory()

    @classmethod
    @contextmanager
    def rewriting(cls, path: Path, *, fsync: bool = False, synced: bool = True) -> Iterator[Log]:
        """Give an empty log, and put it in the place of the one at ``path`` when the block ends.

        An error leaves the old log as it was. Unless ``synced``, loss of power may take both: that is for
        payloads that are elsewhere too.
        """
        with ExitStack() as undo:
            with rewriting(path, fsync=False) as draft:
                log = cls(draft)
                undo.callback(log.close)
                yield log
                if synced or fsync:
                    os.fsync(log._descriptor)
            undo.pop_all()
        log.path, log._fsync = path, fsync
        log._update_inventory()
        # The new log is in place. After an error here, the caller would use the old one, which is gone.
        with suppress(OSError):
            if synced or fsync:
                sync_folders(path, levels=1)

    @property
    def end(self) -> int:
        """The position after the last payload."""
        return self._end

    def append(self, *payloads: bytes) -> int:
        """Append payloads in one write; return where the first is. OSError leaves the log as it was."""
        parts: list[bytes] = []
        for payload in payloads:
            parts += (frames.header(payload), payload)
        if len(parts) > _FEW_PARTS:
            parts = [b"".join(parts)]
        with self._lock:
            position = self._end
            end = frames.write_all(self._descriptor, parts, position - self._begin)
            if self._fsync:
                try:
                    sync_data(self._descriptor)
                except OSError:
                    # The next entry may be shorter, and would leave the rest of this one behind it.
                    os.ftruncate(self._descriptor, position - self._begin)
                    raise
            self._end = end + self._begin
        if not self._in_inventory:
            self._update_inventory()
        return position

    def replace(self, payloads: Iterable[bytes], *, synced: bool = True) -> None:
        """Replace all payloads by these, as ``rewriting`` does. OSError leaves the log as it was."""
        with self.rewriting(self.path, fsync=self._fsync, synced=synced) as fresh:
            fresh.extend(payloads)
        self._continue_in(fresh)
        self.needed_bytes = self._end

    def compact(self, list_payloads: Callable[[], Iterable[bytes]], *, above: int | None = None) -> None:
        """Replace all payloads by the listed ones if the log has over four times the size that it needs.

        One of at most ``above`` bytes stays; None means 16 MiB. So does one that cannot be replaced, until it
        has grown as much again.
        """
        size = self._end - self._begin
        if size > (OVERGROWN_BYTES if above is None else above) and size > _GROWTH * self.needed_bytes:
            self.needed_bytes = size
            with suppress(DamagedLogError, OSError):
                self.replace(list_payloads())

    def extend(self, payloads: Iterable[bytes]) -> None:
        """Append many payloads, of which some may be left when an OSError ends it."""
        for piece in _join(payloads):
            with self._lock:
                self._end = self._begin + frames.write_all(self._descriptor, [piece], self._end - self._begin)

    def entries(self, start: int = 0) -> Iterator[tuple[int, bytes]]:
        """Every (position, payload) from the position ``start`` to the log's present end."""
        end = self._end
        while max(start, self._begin) < end:
            with self._lock:
                # What was forgotten meanwhile is passed over.
                start = max(start, self._begin)
                piece = os.pread(self._descriptor, min(_READ_BYTES, end - start), start - self._begin)
            at = 0
            while (frame := frames.parse(piece, start + at, at)) and frame.end <= start + len(piece):
                payload = piece[frame.start - start : frame.end - start]
                if crc32(payload) != frame.check:
                    break
                yield frame.position, payload
                at = frame.end - start
            start += at
            if not at:
                # It is longer than what is read at once, or damaged.
                frame, payload = self._frame(start)
                yield frame.position, payload
                start = frame.end

    def read(self, position: int) -> bytes:
        """The payload at ``position``.

        Raises ``DamagedLogError`` when the payload is damaged, or when no payload starts there.
        """
        frame, payload = self._frame(position)
        if frame.position != position:
            raise DamagedLogError(self.path, 0, f"the entry {position} was removed")
        return payload

    def forget(self, before: int) -> None:
        """Remove the entries before the position ``before``. OSError leaves the log as it was.

        The entries that stay are copied into a new file. Other threads can append during most of the copy.
        """
        draft = self.path.with_suffix(".draft")
        descriptor = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, FILE_MODE)
        try:
            # The long copy and its fsync run without the lock; under it only what was appended meanwhile
            # is copied, so that a writer waits for a few entries and not for the whole file.
            copied = self._copy(descriptor, before, before)
            os.fsync(descriptor)
            with self._lock:
                copied = self._copy(descriptor, before, copied)
                sync_data(descriptor)
                put_in_place(draft, self.path, fsync=False)
                self._exchange(descriptor)
                self._begin = before
        except OSError:
            os.close(descriptor)
            draft.unlink(missing_ok=True)
            raise
        # Without the lock, for appends go into the new file by now.
        if self._fsync:
            sync_folders(self.path, levels=1)

    def sync(self) -> None:
        """Return when all payloads survive loss of power; at once when it is closed. Raises OSError.

        Callable on any thread, while others use the log.
        """
        with self._sync_lock:
            if self._descriptor >= 0:
                sync_data(self._descriptor)

    def close(self) -> None:
        """Close the file. The log cannot be used afterwards."""
        self._exchange(-1)

    def _update_inventory(self) -> None:
        """List the log in the inventory if it holds anything. A draft is never listed."""
        self._in_inventory = self._end > 0
        inventory = inventory_of(self.path)
        if inventory is not None and self.path.suffix == ".log":
            (inventory.add if self._in_inventory else inventory.remove)(self.path)

    def _continue_in(self, fresh: Log) -> None:
        """Use the file of another log, which is not used any more."""
        with self._lock:
            self._exchange(fresh._descriptor)
            self._begin, self._end = fresh._begin, fresh._end
        self._in_inventory = fresh._in_inventory

    def _exchange(self, descriptor: int) -> None:
        # A flush must not reach another file that gets the number.
        with self._sync_lock:
            os.close(self._descriptor)
            self._descriptor = descriptor

    def _frame(self, position: int) -> tuple[frames.Frame, bytes]:
        with self._lock:
            begin, position = self._begin, max(position, self._begin)
            top = os.pread(self._descriptor, frames.HEADER_BYTES, position - begin)
            frame = frames.parse(top, position)
            payload = os.pread(self._descriptor, frame.length, frame.start - begin) if frame else b""
        if frame is None:
            raise DamagedLogError(self.path, position - begin, "no entry starts here")
        # Of a copy, without the lock: nobody who appends waits for it.
        if crc32(payload) != frame.check:
            raise DamagedLogError(self.path, position - begin, "an entry does not match its checksum")
        return frame, payload

    def _copy(self, descriptor: int, before: int, start: int) -> int:
        """Copy the entries from ``start`` on into a file whose first byte is the position ``before``.

        Returns the position after the last byte copied.
        """
        while start < self._end:
            piece = os.pread(self._descriptor, min(_COPIED_BYTES, self._end - start), start - self._begin)
            frames.write_all(descriptor, [piece], start - before)
            start += len(piece)
        return start


def _join(payloads: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the payloads in their frames, about a MiB at once."""
    waiting = bytearray()
    for payload in payloads:
        waiting += frames.header(payload)
        waiting += payload
        if len(waiting) > _WRITTEN_BYTES:
            yield bytes(waiting)
            waiting.clear()
    yield bytes(waiting)
