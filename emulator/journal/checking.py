"""Checks files that a start does not read, in the background: damage is found before somebody reads it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from emulator.journal import frames
from emulator.journal.aside import FOLDER as ASIDE
from emulator.journal.frames import DamagedLogError
from emulator.journal.packed import SUFFIX, blocks_of
from emulator.journal.payloads import PAYLOADS

_PIECE_BYTES: Final = 1 << 20
_PAUSE_SECONDS: Final = 0.02
"""Real seconds, after each MiB: some 40 MB a second, and a small part of the processor."""


class Checking:
    """A thread that checks the checksums of every compressed, shared and sealed file below ``root``, once.

    ``found`` is called on that thread with the damage of each file, of which there is one at most.
    """

    def __init__(self, root: Path, found: Callable[[DamagedLogError], None]) -> None:
        self._root = root
        self._found = found
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="checking", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Stop after the present block."""
        self._closed.set()
        if self._thread.ident is not None:
            self._thread.join(timeout=10)

    def _run(self) -> None:
        read = 0
        for path in _list_files(self._root):
            # A file may be trimmed, packed or emptied meanwhile.
            with suppress(OSError):
                try:
                    for size in _check(path):
                        read += size
                        if read >= _PIECE_BYTES:
                            read = 0
                            self._closed.wait(_PAUSE_SECONDS)
                        if self._closed.is_set():
                            return
                except DamagedLogError as error:
                    self._found(error)


def find_damage(paths: Iterable[Path]) -> Iterator[DamagedLogError]:
    """Yield the damage of each of these files, of which there is one at most. Raises OSError."""
    for path in paths:
        try:
            for _ in _check(path):
                pass
        except DamagedLogError as error:
            yield error


def _list_files(root: Path) -> list[Path]:
    """List what is complete: compressed files, sealed segments, and bodies of objects but the last file."""
    bodies = sorted(root.glob("services/bodies-*.log"), key=lambda path: (len(path.name), path.name))
    # Folders may vanish meanwhile: os.walk passes over what it cannot list.
    there = sorted(
        Path(folder, name)
        for folder, _, names in os.walk(root)
        if Path(folder).relative_to(root).parts[:1] != (ASIDE,)
        for name in names
    )
    whole = (path for path in there if path.suffix in {SUFFIX, PAYLOADS} or _is_sealed(path))
    return [*whole, *bodies[:-1]]


def _is_sealed(path: Path) -> bool:
    return path.suffix == ".log" and path.with_suffix(".index").exists()


def _check(path: Path) -> Iterator[int]:
    """Yield the size of each block that is what was written. Raises ``DamagedLogError`` and OSError."""
    if path.suffix != ".log":
        yield from blocks_of(path)
        return
    with path.open("rb") as file:
        for frame in frames.scan(file.fileno(), path):
            yield frame.length
