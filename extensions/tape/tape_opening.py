"""Opens whatever holds the entries of a tape: a tape file, or the ``events.ndjson`` of a certificate.

tape = open_tape(path)                  # raises BadTapeError
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from extensions.tape.certified_trace import CertifiedTrace
from extensions.tape.tape_reader import TapeFile
from rdss_sandbox.shapes.tape import TapeEntry, TapeMark


class Tape(Protocol):
    """Entries to read again and again; see ``TapeFile``."""

    path: Path
    mark: TapeMark
    troubles: list[str]
    entries: int
    first: float
    last: float

    def read(self, start: float | None = None, end: float | None = None) -> Iterator[TapeEntry]:
        """Give the entries from ``start`` on and before ``end``, in the order of their times."""


def open_tape(path: Path) -> Tape:
    """Open a file by the ending of its name. Raises ``BadTapeError``."""
    return CertifiedTrace(path) if path.suffix == ".ndjson" else TapeFile.open(path)
