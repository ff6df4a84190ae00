"""The journal of states: the latest state of every stream and account, kept over crashes."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path

from emulator.journal import Log
from emulator.journal.reserve import spending_reserve
from emulator.kinesis.stream_state import AccountState, Change, StreamGone, decode, encode

_COMPACT_ABOVE_ENTRIES = 1000


class StateJournal:
    """Changes of state in a log. Raises ``DamagedLogError``.

    ``latest`` are the latest states when the log was opened, ``gone`` the numbers of the deleted streams.
    """

    def __init__(self, path: Path, *, fsync: bool) -> None:
        self._log = Log(path, fsync=fsync)
        self.path = path
        self.torn_bytes = self._log.torn_bytes
        self._fsync = fsync
        self.latest, self.gone, self._entries = _read_latest(self._log)

    def tidy(self) -> None:
        """Rewrite the log with the latest states only, if it has more than a thousand entries.

        The caller must have removed the files of the ``gone`` streams: the new log does not know them.
        """
        if self._entries > _COMPACT_ABOVE_ENTRIES:
            # On a full disk the long log stays in use.
            with suppress(OSError):
                rewritten = Log.rewrite(self.path, map(encode, self.latest), fsync=self._fsync)
                self._log.close()
                self._log = rewritten

    def replace(self, changes: Iterable[Change]) -> None:
        """Replace all that is stored by ``changes``, which are elsewhere too. Raises OSError."""
        rewritten = Log.rewrite(self.path, map(encode, changes), fsync=self._fsync, synced=False)
        self._log.close()
        self._log = rewritten

    def append(self, change: Change) -> None:
        """Return when ``change`` is durable. Raises OSError."""
        write = partial(self._log.append, encode(change))
        spending_reserve(self.path, write) if isinstance(change, StreamGone) else write()

    def close(self) -> None:
        """Close the file."""
        self._log.close()


def _read_latest(log: Log) -> tuple[list[Change], frozenset[int], int]:
    """Read the latest states, the numbers of the deleted streams, and how many entries there are.

    The latest states have a deleted stream only if its number is the highest: it must not be used again.
    """
    latest: dict[object, Change] = {}
    entries = last = 0
    for _, payload in log.entries():
        change = decode(payload)
        entries += 1
        if isinstance(change, AccountState):
            latest[change.scope] = change
        else:
            latest[change.number] = change
            last = max(last, change.number)
    kept = [c for c in latest.values() if not isinstance(c, StreamGone) or c.number == last]
    gone = frozenset(c.number for c in latest.values() if isinstance(c, StreamGone))
    return kept, gone, entries
