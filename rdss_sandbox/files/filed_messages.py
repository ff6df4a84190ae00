"""Messages in files that an extension reads, such as tapes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, TypeAlias

from rdss_sandbox.extension import import_place
from rdss_sandbox.installed_extensions import list_extensions


class FiledMessage(NamedTuple):
    """A message, its key, and when it came, in seconds since the epoch.

    Its ``number`` in the file counts from 1. It is not ``kept`` where the file has not its bytes, and others
    stand for them.
    """

    at: float
    data: bytes
    key: str
    number: int
    kept: bool = True


Tell: TypeAlias = Callable[[str], object]
"""Takes a sentence on what of a file cannot be read."""
ReadFile: TypeAlias = Callable[[Path, Tell], Iterator[FiledMessage]]
"""Gives the messages of a file, in the order in which they came. Raises ValueError where it has none."""


def list_readers() -> dict[str, str]:
    """The places of what reads files of messages, by the endings of their names."""
    return {ending: place for each in list_extensions() for ending, place in each.message_files.items()}


def read_filed_messages(path: Path, tell: Tell = lambda _: None) -> Iterator[FiledMessage]:
    """The messages of a file, in the order in which they came.

    Raises ValueError for a file that cannot be read, or whose kind no extension reads.
    """
    readers = list_readers()
    if path.suffix not in readers:
        there = ", ".join(sorted(readers)) or "none"
        raise ValueError(f"{path} is no file of messages that is read here; the kinds are: {there}")
    read: ReadFile = import_place(readers[path.suffix])
    return read(path, tell)
