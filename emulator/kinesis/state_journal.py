"""The journal of states: the last word on every stream and account, however often the process dies."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from emulator.journal import Log
from emulator.kinesis.state import AccountState, Change, StreamGone, decode, encode

_COMPACT_ABOVE_ENTRIES = 1000


class StateJournal:
    """Changes of state in a log; ``latest`` is what stood when it was opened. Raises ``DamagedLogError``.

    ``gone`` are the numbers of the streams that it says were deleted.
    """

    def __init__(self, path: Path, *, fsync: bool) -> None:
        self._log = Log(path, fsync=fsync)
        self.path = path
        self.torn_bytes = self._log.torn_bytes
        self._fsync = fsync
        self.latest, self.gone, self._entries = _last_words(self._log)

    def tidy(self) -> None:
        """Write the log anew, without what was changed since, when it has more than a thousand entries.

        Only once what is left of the streams that are ``gone`` has been removed: they are forgotten here.
        """
        if self._entries > _COMPACT_ABOVE_ENTRIES:
            # On a full disk the long one does as well.
            with suppress(OSError):
                rewritten = _rewritten(self.path, self.latest, fsync=self._fsync)
                self._log.close()
                self._log = rewritten

    def append(self, change: Change) -> None:
        """Return when ``change`` is durable. Raises OSError."""
        self._log.append(encode(change))

    def close(self) -> None:
        """Give the file back."""
        self._log.close()


def _last_words(log: Log) -> tuple[list[Change], frozenset[int], int]:
    """What the entries come to, which streams are gone, and how many entries there are.

    Of the streams that are gone only the one with the highest number is kept: no number is given again.
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


def _rewritten(path: Path, changes: list[Change], *, fsync: bool) -> Log:
    """A log with only ``changes`` in the place of the one at ``path``, which stays until it is whole."""
    draft = path.with_suffix(".draft")
    draft.unlink(missing_ok=True)
    log = Log(draft, fsync=True)
    try:
        for change in changes:
            log.append(encode(change))
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    finally:
        log.close()
    return Log(path, fsync=fsync)
