"""The messages in the files of a command line, or on standard input."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING

from rdss_sandbox.files.ndjson import read_line

if TYPE_CHECKING:
    from schemas.json_texts import Document


def read_documents(files: Iterable[str]) -> Iterator[Document | str]:
    """Yield the documents in the files, and a reason for each unreadable file; ``-`` is standard input."""
    from schemas.json_texts import documents

    for name in files:
        try:
            with _open(name) as lines:
                for found in documents("standard input" if name == "-" else name, lines):
                    yield _unwrap(found)
        except OSError as error:
            yield f"{name} cannot be read: {error.strerror or error}"


def _unwrap(found: Document) -> Document:
    """The message of a line as ``sample`` and ``receive`` write it; a line that is no such one stays."""
    with suppress(ValueError, TypeError):
        return replace(found, raw=read_line(found.raw))
    return found


@contextmanager
def _open(name: str) -> Iterator[IO[bytes]]:
    if name == "-":
        yield sys.stdin.buffer
    else:
        with Path(name).open("rb") as file:
            yield file
