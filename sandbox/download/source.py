"""The seam between a download and what serves the file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Fetch:
    """An answer: the bytes from ``start`` on.

    ``start`` is 0 instead of what was asked for when the file has changed or the server cannot resume.
    ``total`` is the size of the whole file where the server says it; ``tag`` names this state of the file.
    """

    start: int
    total: int | None
    tag: str | None
    chunks: Iterator[bytes]


class Source(Protocol):
    """Serves the files of one URI scheme."""

    def fetch(self, location: str, start: int, tag: str | None) -> AbstractContextManager[Fetch]:
        """The file from byte ``start`` on, if its state is still ``tag``.

        Raises ``DownloadInterruptedError`` where another try may do, from ``chunks`` too, and
        ``DownloadError`` where none will.
        """
