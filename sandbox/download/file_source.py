"""The interface between a download and the source of the file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Fetch:
    """The bytes of a file from ``start`` on.

    ``start`` is 0 instead of the requested byte when the file has changed or the server cannot resume.
    ``total`` is the size of the whole file if known; ``tag`` identifies this state of the file.
    """

    start: int
    total: int | None
    tag: str | None
    chunks: Iterator[bytes]


class FileSource(Protocol):
    """Serves the files of one URI scheme."""

    def fetch(self, location: str, start: int, tag: str | None) -> AbstractContextManager[Fetch]:
        """Open the file from byte ``start`` on, if its state is still ``tag``.

        Raises ``DownloadInterruptedError`` for a temporary failure, from ``chunks`` as well, and
        ``DownloadError`` for a permanent one.
        """
