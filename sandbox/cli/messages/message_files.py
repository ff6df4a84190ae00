"""The messages in the files of a command line, or on standard input."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from schemas.json_texts import Document


def read_documents(files: Iterable[str]) -> Iterator[Document | str]:
    """Yield the documents in the files, and a reason for each unreadable file; ``-`` is standard input."""
    from schemas.json_texts import documents

    for name in files:
        try:
            with _open(name) as lines:
                yield from documents("standard input" if name == "-" else name, lines)
        except OSError as error:
            yield f"{name} cannot be read: {error.strerror or error}"


@contextmanager
def _open(name: str) -> Iterator[IO[bytes]]:
    if name == "-":
        yield sys.stdin.buffer
    else:
        with Path(name).open("rb") as file:
            yield file
