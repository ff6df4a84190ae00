"""The journal of queues: a claim that was answered for survives the process."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Final, Protocol

from emulator.journal import Log
from emulator.queues.engine.changes import Change, Entry, decode, encode
from emulator.queues.engine.state import State

_WRITE_ANEW_ABOVE_BYTES: Final = 16 << 20
_GROWTH: Final = 4
_CHANGES_IN_AN_ENTRY: Final = 50


class Journal(Protocol):
    """Where entries are kept."""

    def append(self, entry: Entry) -> None:
        """Return once the entry is as durable as it will be. OSError leaves nothing of it behind."""

    def tidy(self, state: State, now: float) -> None:
        """Forget what ``state`` no longer needs, if there is much of it."""

    def close(self) -> None: ...


class NoJournal:
    """For queues that are gone with the process."""

    def append(self, entry: Entry) -> None:
        """Nothing is kept."""

    def tidy(self, state: State, now: float) -> None:
        """There is nothing to forget."""

    def close(self) -> None:
        """There is nothing to give back."""


class FileJournal:
    """Entries in a log at ``path``, written anew when it is four times what its queues need.

    ``torn_bytes`` is how much of an entry that was not written whole was cut. Raises ``DamagedLogError``.
    """

    def __init__(self, path: Path, *, fsync: bool) -> None:
        self._path = path
        self._fsync = fsync
        self._log = Log(path, fsync=fsync)
        self.torn_bytes = self._log.torn_bytes
        self._bytes = 0
        self._needed = 0

    def replay(self, state: State) -> None:
        """Give ``state``, which is empty, everything that has happened."""
        last = 0.0
        for position, payload in self._log.entries():
            entry = decode(payload)
            last = entry.time
            for change in entry.changes:
                state.pass_time(change, last)
                state.apply(change, last)
            self._bytes = position + len(payload)
        self.tidy(state, last)

    def append(self, entry: Entry) -> None:
        payload = encode(entry)
        self._bytes = self._log.append(payload) + len(payload)

    def tidy(self, state: State, now: float) -> None:
        if self._bytes > _WRITE_ANEW_ABOVE_BYTES and self._bytes > _GROWTH * self._needed:
            try:
                self._write_anew(state.changes(), now)
            except OSError:
                # What was committed stays committed; this is tried again when the log has grown once more.
                self._needed = self._bytes

    def close(self) -> None:
        """Give the file back."""
        self._log.close()

    def _write_anew(self, changes: Iterable[Change], now: float) -> None:
        """Put a log with only ``changes`` in the place of the old one, which stays until it is whole."""
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
