"""Who may look on while the fast paths answer: a client's record, for the diagnosis."""

from __future__ import annotations

from typing import Final, Protocol

from emulator.kinesis.entries import Entry, Written
from emulator.kinesis.iterator_reads import Located
from emulator.kinesis.iterators import ShardIterator
from emulator.kinesis.reads import FetchedLines
from emulator.kinesis.stream import Stream


class Onlooker(Protocol):
    """Is told of each call while the engine's lock is held, so it must be quick and must not raise."""

    def note_read(self, located: Located, fetched: FetchedLines, following: ShardIterator | None, /) -> None:
        """GetRecords used up ``located.iterator`` and returned ``following``."""

    def note_refused_read(self, located: Located, code: str, /) -> None:
        """GetRecords was refused with this error code."""

    def note_written(self, operation: str, stream: Stream, entries: list[Entry], written: Written, /) -> None:
        """PutRecord or PutRecords wrote these entries, perhaps not all."""


class _Nobody:
    """Looks away."""

    def note_read(
        self, _located: Located, _fetched: FetchedLines, _following: ShardIterator | None, /
    ) -> None: ...

    def note_refused_read(self, _located: Located, _code: str, /) -> None: ...

    def note_written(
        self, _operation: str, _stream: Stream, _entries: list[Entry], _written: Written, /
    ) -> None: ...


NOBODY: Final[Onlooker] = _Nobody()
