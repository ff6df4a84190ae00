"""A durable map: a log of changes in which the last value of a key counts.

An entry is a list of changes in MessagePack, each a pair of a key and its new value, or nil when the key is
gone. The key "" is not of the map: it says who wrote the log.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias

import msgspec

from emulator.journal import frames
from emulator.journal.frames import DamagedLogError
from emulator.journal.log import Log
from emulator.journal.reserve import spending_reserve

Change: TypeAlias = tuple[bytes, bytes | None]
"""A key and its new value; None when the key is gone."""
ReadOld: TypeAlias = Callable[[bytes, dict[bytes, bytes]], None]
"""Applies an entry to the map, of a version that wrote entries of another form."""
ListLiving: TypeAlias = Callable[[], Iterable[Change]]
"""Gives every key with its present value."""

HEAD: Final = b""
_LONG_AT_START: Final = 1 << 16
encode_changes: Final = msgspec.msgpack.Encoder().encode
decode_changes: Final = msgspec.msgpack.Decoder(list[tuple[bytes, bytes | None]]).decode


class KeyedLog:
    """The map in the log at ``path``; with None it keeps nothing.

    All changes of one ``append`` survive together, or none. The log rewrites itself with the last values when
    it has over four times the size of these, or with those that ``list_living`` gives, where its owner drops
    some without a word. ``head`` says who writes it. Entries of another form are read by ``read_old``, and
    the log is then rewritten. Raises ``DamagedLogError``.
    """

    def __init__(
        self,
        path: Path | None,
        *,
        fsync: bool = False,
        head: bytes | None = None,
        read_old: ReadOld | None = None,
        list_living: ListLiving | None = None,
    ) -> None:
        self._log = None if path is None else Log(path, fsync=fsync)
        self._head: list[Change] = [] if head is None else [(HEAD, head)]
        self._read_old = read_old
        self._list_living = list_living
        self.torn_bytes = self._log.torn_bytes if self._log else 0
        """How many bytes of an incomplete last entry were cut."""

    def read(self) -> dict[bytes, bytes]:
        """The last value of each key, in the order in which the keys came first."""
        if self._log is None:
            return {}
        found, is_old = self._read(self._log)
        if is_old:
            # On a full disk the old entries stay. They are read again by the next start.
            with suppress(OSError):
                self.replace(found.items())
        self._log.needed_bytes = frames.HEADER_BYTES * len(found) + sum(map(len, found))
        self._log.needed_bytes += sum(map(len, found.values()))
        self._log.compact(partial(self._encode_each, found.items()), above=_LONG_AT_START)
        return found

    def append(self, changes: list[Change], *, freeing: bool = False) -> None:
        """Store ``changes`` before returning. OSError leaves the log as it was.

        Changes that are ``freeing`` room are stored in room that was kept for them, if the disk is full.
        """
        log = self._log
        if log is None or not changes:
            return
        if not log.end:
            changes = [*self._head, *changes]
        payload = encode_changes(changes)
        if freeing:
            spending_reserve(log.path, partial(log.append, payload))
        else:
            log.append(payload)
        log.compact(self._encode_living)

    def replace(self, values: Iterable[Change], *, synced: bool = True) -> None:
        """Replace the map by ``values``. The old log stays until the new one is complete.

        Unless ``synced``, loss of power may take both. OSError leaves the log as it was.
        """
        if self._log is not None:
            self._log.replace(self._encode_each(values), synced=synced)

    def close(self) -> None:
        if self._log is not None:
            self._log.close()

    def _read(self, log: Log) -> tuple[dict[bytes, bytes], bool]:
        """Read the map, and whether the log has entries of another form."""
        found: dict[bytes, bytes] = {}
        is_old = False
        for position, payload in log.entries():
            try:
                changes = decode_changes(payload)
            except msgspec.MsgspecError:
                if self._read_old is None:
                    raise DamagedLogError(log.path, position, "an entry has no keys and values") from None
                self._read_old(payload, found)
                is_old = True
                continue
            for key, value in changes:
                if value is None:
                    found.pop(key, None)
                else:
                    found[key] = value
        found.pop(HEAD, None)
        return found, is_old

    def _encode_living(self) -> Iterator[bytes]:
        if self._list_living is not None:
            yield from self._encode_each(self._list_living())
        elif self._log is not None:
            yield from self._encode_each(self._read(self._log)[0].items())

    def _encode_each(self, values: Iterable[Change]) -> Iterator[bytes]:
        for change in (*self._head, *values):
            yield encode_changes([change])
