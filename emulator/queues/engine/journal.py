"""The journal of queues, by which every answered claim survives the process."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Final, Protocol

from emulator.journal import Log
from emulator.queues.engine.changes import Change, Entry, decode, encode
from emulator.queues.engine.queue_state import State

_REWRITE_ABOVE_BYTES: Final = 16 << 20
_GROWTH: Final = 4
_CHANGES_IN_AN_ENTRY: Final = 50


class Journal(Protocol):
    """The store of entries."""

    def append(self, entry: Entry) -> None:
        """Store the entry before returning. Raises OSError, and then nothing of it is stored."""

    def compact(self, state: State, now: float) -> None:
        """Rewrite the journal when it is much larger than ``state`` needs."""

    def close(self) -> None: ...


class NoJournal:
    """A journal for queues in memory, which stores nothing."""

    def append(self, entry: Entry) -> None:
        """Store nothing."""

    def compact(self, state: State, now: float) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


class FileJournal:
    """A journal in a log at ``path``, which is rewritten when it has four times the size that it needs.

    ``torn_bytes`` is how many bytes of an incomplete last entry were cut. Raises ``DamagedLogError``.
    """

    def __init__(self, path: Path, *, fsync: bool) -> None:
        self._path = path
        self._fsync = fsync
        self._log = Log(path, fsync=fsync)
        self.torn_bytes = self._log.torn_bytes
        self._bytes = 0
        self._needed = 0

    def replay(self, state: State) -> None:
        """Apply every stored entry to the empty ``state``."""
        last = 0.0
        for position, payload in self._log.entries():
            entry = decode(payload)
            last = entry.time
            for change in entry.changes:
                state.pass_time(change, last)
                state.apply(change, last)
            self._bytes = position + len(payload)
        self.compact(state, last)

    def append(self, entry: Entry) -> None:
        payload = encode(entry)
        self._bytes = self._log.append(payload) + len(payload)

    def compact(self, state: State, now: float) -> None:
        if self._bytes > _REWRITE_ABOVE_BYTES and self._bytes > _GROWTH * self._needed:
            try:
                self._rewrite(state.list_changes(), now)
            except OSError:
                # The old log stays valid. The next try comes when it has grown by the same factor again.
                self._needed = self._bytes

    def close(self) -> None:
        """Close the file."""
        self._log.close()

    def _rewrite(self, changes: Iterable[Change], now: float) -> None:
        """Replace the log by one with only ``changes``. The old one stays until the new one is complete."""
        draft_path = self._path.with_suffix(".draft")
        draft_path.unlink(missing_ok=True)
        draft = Log(draft_path, fsync=True)
        size, left = 0, iter(changes)
        try:
            while batch := list(islice(left, _CHANGES_IN_AN_ENTRY)):
                payload = encode(Entry(now, batch))
                size = draft.append(payload) + len(payload)
            draft_path.replace(self._path)
        except BaseException:
            draft_path.unlink(missing_ok=True)
            raise
        finally:
            draft.close()
        self._log.close()
        self._log = Log(self._path, fsync=self._fsync)
        self._bytes = self._needed = size
