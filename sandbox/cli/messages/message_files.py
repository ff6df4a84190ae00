"""The messages in the files of a command line, or on standard input."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING

from rdss_sandbox.files.filed_messages import list_readers, read_filed_messages
from rdss_sandbox.files.ndjson import read_line

if TYPE_CHECKING:
    from schemas.json_texts import Document


def read_documents(files: Iterable[str]) -> Iterator[Document | str]:
    """Yield the documents in the files, and a reason for each unreadable file; ``-`` is standard input."""
    from schemas.json_texts import documents

    filed = list_readers()
    for name in files:
        if Path(name).suffix in filed:
            yield from _read_filed(Path(name))
            continue
        try:
            with _open(name) as lines:
                for found in documents("standard input" if name == "-" else name, lines):
                    yield _unwrap(found)
        except OSError as error:
            yield f"{name} cannot be read: {error.strerror or error}"


def _read_filed(path: Path) -> Iterator[Document | str]:
    """The messages of a file that an extension reads, by their numbers in it."""
    from schemas.json_texts import Document

    troubles: list[str] = []
    missing = 0
    try:
        for each in read_filed_messages(path, troubles.append):
            if each.kept:
                yield Document(str(path), each.number, each.data)
            else:
                missing += 1
    except ValueError as error:
        troubles.append(str(error))
    if missing:
        troubles.append(f"{path} does not keep the bodies of {missing:,} messages: they cannot be judged")
    yield from troubles


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
