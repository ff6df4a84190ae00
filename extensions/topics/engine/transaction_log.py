"""The transaction log of topics: everything that must outlive the process, in order."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from emulator.journal import Block, Segments
from extensions.topics.engine.command_headers import split_list
from extensions.topics.engine.command_refusal import CommandRefusedError
from extensions.topics.engine.update import Update

Kind: TypeAlias = Literal["published", "deleted", "expired", "taken"]

_DIGITS = 16
_READ_LINES = 1000
_READ_BYTES = 1 << 22


class EntryOrigin(msgspec.Struct, array_like=True, gc=False, frozen=True):
    """The source of a replicated entry: ``number`` in the log ``source``; its first log was ``origin``."""

    source: str
    number: int
    origin: str


class LoggedChange(msgspec.Struct, array_like=True, gc=False):
    """A change of the record ``key`` of ``topic``; ``time`` is in seconds since the epoch.

    An entry of kind ``taken`` means that the messages ``numbers`` left the queue ``topic``. ``publisher`` and
    ``seq`` identify the message, so that a repeat is recognised after a restart. ``arrived`` is the source of
    an entry from another sandbox.
    """

    kind: Kind
    topic: str
    time: float
    key: str = ""
    data: msgspec.Raw = msgspec.Raw(b"null")
    correlation_id: str = ""
    user_id: str = ""
    expires: float | None = None
    publisher: str = ""
    seq: int | None = None
    numbers: tuple[int, ...] = ()
    arrived: EntryOrigin | None = None


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(LoggedChange).decode


class TransactionLog:
    """Entries numbered from 1, in ``directory``, or in memory without one. Not thread-safe.

    In memory it may begin with those ``recalled`` from a copy.

    After ``append`` returns, entries survive ``kill -9``. After ``sync`` returns, they also survive a power
    cut, if ``fsync`` is set. Raises DamagedLogError.
    """

    def __init__(self, directory: Path | None, *, fsync: bool, recalled: Segments | None = None) -> None:
        self.durable = directory is not None
        self._segments = recalled or Segments(directory)
        self._arrival = self._segments.last_arrival
        self._fsync = fsync
        self._grown_at = sys.maxsize
        self._grown: Callable[[], None] = lambda: None

    @property
    def next(self) -> int:
        """The number of the next entry."""
        return self._segments.next

    @property
    def first(self) -> int:
        """The number of the oldest entry."""
        return self._segments.first

    @property
    def lost(self) -> bool:
        """Whether a whole segment file was lost."""
        return self._segments.lost

    @property
    def torn_bytes(self) -> int:
        """The number of bytes of an incomplete last entry that were cut off."""
        return self._segments.torn_bytes

    def append(self, *entries: LoggedChange) -> int:
        """Append entries, all or none, and return the number of the first.

        Raises CommandRefusedError.
        """
        first = self._segments.next
        lines = b"\n".join([*map(_encode, entries), b""])
        # The clock may be set back, but a search by time needs ascending arrivals.
        self._arrival = max(self._arrival, int(entries[0].time * 1000))
        try:
            self._segments.append(lines, len(entries), len(lines), self._arrival)
        except OSError as error:
            raise CommandRefusedError(
                "not stored", f"the log could not be written ({error}); nothing was changed"
            ) from error
        if self._segments.next >= self._grown_at:
            self._grown_at = sys.maxsize
            self._grown()
        return first

    def when_grown(self, entries: int, grown: Callable[[], None]) -> None:
        """Call ``grown`` once, after ``entries`` more entries."""
        self._grown_at, self._grown = self._segments.next + entries, grown

    def trim(self, before: float) -> None:
        """Remove entries older than ``before``, in seconds since the epoch."""
        if before > 0:
            self._segments.trim(int(before * 1000))

    def sync(self) -> None:
        """Make the appended entries durable, if ``fsync`` is set. Raises OSError."""
        if self._fsync:
            self._segments.sync()

    def copy(self) -> list[Block]:
        """Return a copy of every entry. Raises DamagedLogError and OSError."""
        return list(self._segments.copy())

    def entries(self, number: int = 1, limit: int | None = None) -> Iterator[tuple[int, LoggedChange]]:
        """Yield up to ``limit`` entries (None for all) from ``number`` on, with their numbers."""
        end = self._segments.next if limit is None else min(self._segments.next, number + limit)
        number = max(number, self._segments.first)
        while number < end:
            found = self._segments.read(number, min(_READ_LINES, end - number), _READ_BYTES)
            # Numbers may be missing before these: a copy that was loaded leaps over some.
            number = found.next - found.lines
            for part in found.parts:
                for line in bytes(part).split(b"\n")[:-1]:
                    yield number, _decode(line)
                    number += 1

    def start(self, bookmark: str) -> tuple[int, frozenset[int]]:
        """The first number of a replay after ``bookmark``, and the numbers that it leaves out.

        A list of bookmarks starts after the earliest and leaves out the others. Raises CommandRefusedError.
        """
        numbers = [self._number(one) for one in split_list(bookmark) or [bookmark]]
        return min(numbers) + 1, frozenset(numbers)

    def close(self) -> None:
        self._segments.close()

    def _number(self, bookmark: str) -> int:
        if bookmark == "0":
            return 0
        number = number_of(bookmark)
        if number is not None and number < self.next:
            return number
        try:
            when = datetime.fromisoformat(bookmark)
        except ValueError:
            raise CommandRefusedError(
                "bad bookmark",
                f"{bookmark[:80]!r} is none of this log; give one that a message had, 0, or a time",
            ) from None
        moment = when if when.tzinfo else when.replace(tzinfo=UTC)
        return self._segments.first_at_or_after(round(moment.timestamp() * 1000)) - 1


def build_entry(update: Update) -> LoggedChange:
    return LoggedChange(
        "published",
        update.topic,
        update.time,
        update.key,
        update.body,
        update.correlation_id,
        update.user_id,
        update.expires,
    )


def bookmark_of(number: int) -> str:
    """The bookmark of the entry ``number``: an opaque text that sorts like the numbers."""
    return f"{number:0{_DIGITS}d}"


def number_of(bookmark: str) -> int | None:
    """The number of the entry of ``bookmark``; None when it is not a bookmark."""
    return int(bookmark) if len(bookmark) == _DIGITS and bookmark.isdecimal() else None
