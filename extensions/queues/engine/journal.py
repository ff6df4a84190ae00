"""The journal of queues, by which every answered claim survives the process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final, Protocol

from emulator.journal import Log
from emulator.journal.reserve import spending_reserve
from extensions.queues.engine.changes import Entry, QueueGone, Released, Removed, Unsubscribed, decode, encode
from extensions.queues.engine.queue_state import State

_DELETIONS: Final = (QueueGone, Released, Removed, Unsubscribed)
"""What makes room, sooner or later."""
_REWRITE_ABOVE_BYTES: Final = 16 << 20
_GROWTH: Final = 4
_CHANGES_IN_AN_ENTRY: Final = 50


class Journal(Protocol):
    """The store of entries."""

    def append(self, entry: Entry) -> None:
        """Store the entry before returning. Raises OSError, and then nothing of it is stored."""

    def compact(self, state: State, now: float) -> None:
        """Rewrite the journal when it is much larger than ``state`` needs."""

    def replace(self, entries: Iterable[bytes]) -> None:
        """Store these encoded entries, which a snapshot has too, in place of all others. Raises OSError."""

    def close(self) -> None: ...


class NoJournal:
    """A journal for queues in memory, which stores nothing."""

    def append(self, entry: Entry) -> None:
        """Store nothing."""

    def compact(self, state: State, now: float) -> None:
        """Do nothing."""

    def replace(self, entries: Iterable[bytes]) -> None:
        """Store nothing."""

    def close(self) -> None:
        """Do nothing."""


class FileJournal:
    """A journal in a log at ``path``, which is rewritten when it has four times the size that it needs.

    ``torn_bytes`` is how many bytes of an incomplete last entry were cut. Raises ``DamagedLogError``.
    """

    def __init__(self, path: Path, *, fsync: bool) -> None:
        self._fsync = fsync
        self._log = Log(path, fsync=fsync)
        self.torn_bytes = self._log.torn_bytes
        self._needed = 0

    def replay(self, state: State) -> None:
        """Apply every stored entry to the empty ``state``."""
        last = 0.0
        for _, payload in self._log.entries():
            last = replay(payload, state)
        self.compact(state, last)

    def append(self, entry: Entry) -> None:
        payload = encode(entry)
        if all(isinstance(change, _DELETIONS) for change in entry.changes):
            spending_reserve(self._log.path, partial(self._log.append, payload))
        else:
            self._log.append(payload)

    def compact(self, state: State, now: float) -> None:
        if self._log.end > max(_REWRITE_ABOVE_BYTES, _GROWTH * self._needed):
            try:
                self._rewrite(list_entries(state, now), synced=True)
            except OSError:
                # The old log stays valid. The next try comes when it has grown by the same factor again.
                self._needed = self._log.end

    def close(self) -> None:
        self._log.close()

    def replace(self, entries: Iterable[bytes]) -> None:
        self._rewrite(entries, synced=False)

    def _rewrite(self, entries: Iterable[bytes], *, synced: bool) -> None:
        rewritten = Log.rewrite(self._log.path, entries, fsync=self._fsync, synced=synced)
        self._log.close()
        self._log = rewritten
        self._needed = rewritten.end


def list_entries(state: State, now: float) -> Iterator[bytes]:
    """Yield encoded entries that produce ``state`` from an empty one."""
    changes = state.list_changes()
    while batch := list(islice(changes, _CHANGES_IN_AN_ENTRY)):
        yield encode(Entry(now, batch))


def replay(payload: bytes | memoryview, state: State) -> float:
    """Apply an encoded entry to ``state``, and return the entry's time."""
    entry = decode(payload)
    for change in entry.changes:
        state.pass_time(change, entry.time)
        state.apply(change, entry.time)
    return entry.time
