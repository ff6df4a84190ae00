"""What must outlive the process, in the order in which it happened: the journal of topics."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from emulator.journal import Segments
from emulator.topics.engine.headers import listed
from emulator.topics.engine.refusals import CommandRefusedError
from emulator.topics.engine.update import Update

Kind: TypeAlias = Literal["published", "deleted", "expired", "taken"]

_DIGITS = 16
_READ_LINES = 1000
_READ_BYTES = 1 << 22


class Arrival(msgspec.Struct, array_like=True, gc=False, frozen=True):
    """Where an entry came from: ``number`` in the log ``source``; it was first in the log ``origin``."""

    source: str
    number: int
    origin: str


class Entry(msgspec.Struct, array_like=True, gc=False):
    """What happened to the record ``key`` of ``topic``; ``time`` is in seconds since the epoch.

    ``taken``: the messages with these ``numbers`` left the queue ``topic``. ``publisher`` and ``seq``
    say whose message it was and which, so that a repeat is known after a restart. ``arrived`` says so of
    what another sandbox sent on.
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
    arrived: Arrival | None = None


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Entry).decode


class TransactionLog:
    """Entries numbered from 1, in ``directory`` or in memory when it is None. Not thread-safe.

    What ``append`` has returned for survives ``kill -9``; what ``sync`` has returned for survives loss of
    power when made with ``fsync``. Raises ``DamagedLogError``.
    """

    def __init__(self, directory: Path | None, *, fsync: bool) -> None:
        self.durable = directory is not None
        self._segments = Segments(directory)
        self._arrival = self._segments.last_arrival
        self._fsync = fsync
        self._grown_at = sys.maxsize
        self._grown: Callable[[], None] = lambda: None

    @property
    def next(self) -> int:
        """The number that the next entry gets."""
        return self._segments.next

    @property
    def first(self) -> int:
        """The number of the oldest entry that is kept."""
        return self._segments.first

    @property
    def lost(self) -> bool:
        """Whether a whole file of it was lost."""
        return self._segments.lost

    @property
    def torn_bytes(self) -> int:
        """How much of an entry that was not written whole was cut."""
        return self._segments.torn_bytes

    def append(self, *entries: Entry) -> int:
        """Keep ``entries``, all of them or none, and return the number of the first.

        Raises CommandRefusedError.
        """
        first = self._segments.next
        lines = b"\n".join([*map(_encode, entries), b""])
        # A clock may be set back; what is looked for by its time must lie in order all the same.
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
        """Have ``grown`` called, once, when there are so many ``entries`` more."""
        self._grown_at, self._grown = self._segments.next + entries, grown

    def trim(self, before: float) -> None:
        """Forget the entries that are older than ``before``, in seconds since the epoch."""
        if before > 0:
            self._segments.trim(int(before * 1000))

    def sync(self) -> None:
        """Return when what was appended is as safe as it was asked to be. Raises OSError."""
        if self._fsync:
            self._segments.sync()

    def entries(self, number: int = 1, limit: int | None = None) -> Iterator[tuple[int, Entry]]:
        """Up to ``limit`` entries (None: all there are now) from ``number`` on, with their numbers."""
        end = self._segments.next if limit is None else min(self._segments.next, number + limit)
        number = max(number, self._segments.first)
        while number < end:
            found = self._segments.read(number, min(_READ_LINES, end - number), _READ_BYTES)
            number = found.next - found.lines
            for part in found.parts:
                for line in bytes(part).split(b"\n")[:-1]:
                    yield number, _decode(line)
                    number += 1

    def start(self, bookmark: str) -> tuple[int, frozenset[int]]:
        """Where a replay after ``bookmark`` begins, and the numbers it leaves out.

        A list starts after its earliest and leaves out the others.
        Raises CommandRefusedError.
        """
        numbers = [self._number(one) for one in listed(bookmark)]
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
            said = datetime.fromisoformat(bookmark)
        except ValueError:
            raise CommandRefusedError(
                "bad bookmark",
                f"{bookmark[:80]!r} is none of this log; give one that a message had, 0, or a time",
            ) from None
        moment = said if said.tzinfo else said.replace(tzinfo=UTC)
        return self._segments.first_at_or_after(round(moment.timestamp() * 1000)) - 1


def published(update: Update) -> Entry:
    """The entry that says what ``update`` does."""
    return Entry(
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
    """What subscribers are told of the entry ``number``: it rises with it, and means nothing else to them."""
    return f"{number:0{_DIGITS}d}"


def number_of(bookmark: str) -> int | None:
    """The number of the entry that ``bookmark`` was made of; None when it is no bookmark."""
    return int(bookmark) if len(bookmark) == _DIGITS and bookmark.isdecimal() else None
