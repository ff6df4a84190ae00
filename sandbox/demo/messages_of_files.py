"""The messages in people's files, for a demonstration of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from sandbox.scenarios.expectation import split
from schemas.json_texts import documents
from schemas.rdss.contract import RDSS

_SUFFIXES: Final = frozenset({".json", ".ndjson", ".jsonl"})


class UnusableFileError(ValueError):
    """A file that cannot be read, or has an oversize message that cannot be split."""


def read_messages(directory: Path, seed: int, now: float) -> list[bytes]:
    """Read the messages in the files of a directory; equal messages are read once.

    What is less than a message gets a counterpart, made from the seed; ``now`` is in seconds since the epoch.
    Raises ``UnusableFileError``.
    """
    if not directory.is_dir():
        raise UnusableFileError(f"{directory} is not a directory; give one that holds messages as JSON")
    read: dict[bytes, None] = {}
    for path in sorted(path for path in directory.rglob("*") if path.suffix in _SUFFIXES):
        try:
            found = list(documents(str(path), path.read_bytes().splitlines(keepends=True)))
        except OSError as error:
            raise UnusableFileError(f"{path} cannot be read: {error.strerror}") from error
        for number, document in enumerate(found, start=len(read)):
            data = RDSS.documents.complete(document.raw, seed=seed + number, now=now)
            try:
                split(data)
            except ValueError as error:
                why = f"{document.place} has {len(data):,} bytes and cannot be split: {error}"
                raise UnusableFileError(why) from error
            read[data] = None
    if not read:
        raise UnusableFileError(f"{directory} holds no message in {', '.join(sorted(_SUFFIXES))} files")
    return list(read)
