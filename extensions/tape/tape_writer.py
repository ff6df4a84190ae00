"""Writes a tape, as entries come.

    with TapeWriter(path, TapeMark(FORMAT, VERSION, clock.time(), "stream input"), redact) as tape:
        tape.add(TapedMessage(at, "input", body, len(body)))

Whoever records something that goes on calls ``flush`` each second (``TapeRecorder`` does): what was flushed
survives ``kill -9``.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final, Self, TypeAlias

from emulator.journal import frames
from emulator.machine.durable_data import sync_data
from emulator.machine.private_files import FILE_MODE
from extensions.tape.tape_format import (
    BLOCK_BYTES,
    IndexedBlock,
    TapeIndex,
    pack_block,
    pack_entry,
    pack_index,
    pack_mark,
)
from rdss_sandbox.files.rewriting import sync_folders
from rdss_sandbox.shapes.tape import TapedMessage, TapeEntry, TapeMark

Redact: TypeAlias = Callable[[TapedMessage], TapedMessage]
"""Gives what may be kept of a message. It is called before anything of the message is buffered."""
_MS: Final = 1000


class TapeExistsError(Exception):
    """There is a file of that name, and it stays as it is."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path} is there already: give a name that is free, or remove the file")


class TapeWriter:
    """A new tape. Raises ``TapeExistsError``, and OSError: then the tape is whole up to the last flush.

    ``entries`` and ``size`` count what was added, ``size`` in bytes of messages. Not thread-safe.
    """

    def __init__(self, path: Path, mark: TapeMark, redact: Redact | None = None) -> None:
        self.path = path
        self.entries = self.size = 0
        self._redact = redact
        self._blocks: list[IndexedBlock] = []
        self._last = self._written = 0
        self._begin_block()
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        try:
            self._descriptor = os.open(path, flags, FILE_MODE)
        except FileExistsError:
            raise TapeExistsError(path) from None
        try:
            self._end = frames.write_all(self._descriptor, [pack_mark(mark)], 0)
        except OSError:
            # The name is free again: there is no tape under it.
            os.close(self._descriptor)
            path.unlink()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def add(self, entry: TapeEntry) -> None:
        """Add an entry, which may be a little older than the one before."""
        if isinstance(entry, TapedMessage):
            if self._redact is not None:
                entry = self._redact(entry)
            self.size += entry.size
            self._block_size += entry.size
        encoded = pack_entry(entry)
        self._encoded.append((round(entry.at * _MS), encoded))
        self.entries += 1
        self._block_bytes += len(encoded)
        if self._block_bytes >= BLOCK_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write what was added since the last block."""
        if not self._encoded:
            return
        taken = sorted(self._encoded, key=lambda found: found[0])
        first = taken[0][0]
        block = pack_block(
            [each for _, each in taken], size=self._block_size, ordinal=self._written, first=first
        )
        # Whatever happens to the block, the next one begins anew: a full disk must not fill the memory.
        self._begin_block()
        position = self._end
        self._end = frames.write_all(self._descriptor, [block], position)
        self._blocks.append(IndexedBlock(position, first, len(taken)))
        self._written += len(taken)
        self._last = max(self._last, taken[-1][0])

    def close(self) -> None:
        """Write the rest, and the index. The tape then survives loss of power."""
        try:
            self.flush()
            end = pack_index(TapeIndex(tuple(self._blocks), self._last), self._end, self._written)
            frames.write_all(self._descriptor, [end], self._end)
            sync_data(self._descriptor)
            sync_folders(self.path, levels=1)
        finally:
            os.close(self._descriptor)

    def _begin_block(self) -> None:
        self._encoded: list[tuple[int, bytes]] = []
        self._block_bytes = self._block_size = 0
