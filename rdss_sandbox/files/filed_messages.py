"""Messages in files that an extension reads, such as tapes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from rdss_sandbox.extension import import_place
from rdss_sandbox.installed_extensions import list_extensions


class FiledMessage(NamedTuple):
    """A message, its key, and when it came, in seconds since the epoch."""

    at: float
    data: bytes
    key: str


def read_filed_messages(path: Path) -> Iterator[FiledMessage]:
    """The messages of a file, in the order in which they came.

    Raises ValueError for a file that cannot be read, or whose kind no extension reads.
    """
    readers = {ending: place for each in list_extensions() for ending, place in each.message_files.items()}
    if path.suffix not in readers:
        there = ", ".join(sorted(readers)) or "none"
        raise ValueError(f"{path} is no file of messages that is read here; the kinds are: {there}")
    read: Callable[[Path], Iterator[FiledMessage]] = import_place(readers[path.suffix])
    return read(path)
