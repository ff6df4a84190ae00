"""What a client was refused, until it comes again: records that were put, and iterators to read with.

Messages are known by their messageId, other records by a digest of key and data. They are looked for in later
calls only while the client owes some, so that a client that is never refused costs nothing.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Final

from msgspec.structs import replace

from rdss_sandbox.shapes.recorded_exchange import RefusedAttempt

MOST: Final = 2_000
_FORGOTTEN_SECONDS: Final = 300.0
_MOST_PAUSES: Final = 20


class _RefusedRecord:
    __slots__ = ("first", "last", "pauses", "settled")

    def __init__(self, first: RefusedAttempt, last: float) -> None:
        self.first = first
        self.last = last
        self.pauses: list[float] = []
        self.settled = False


class RefusedRecords:
    """The refusals of one client. ``open`` are those that did not come again; moments are real seconds."""

    def __init__(self) -> None:
        self.open: OrderedDict[Hashable, _RefusedRecord] = OrderedDict()
        self._closed: OrderedDict[int, _RefusedRecord] = OrderedDict()
        self._count = 0

    def refuse(self, key: Hashable, refusal: RefusedAttempt, asked: float, answered: float) -> None:
        """Note a refusal of what ``key`` identifies, in a call from ``asked`` to ``answered``."""
        known = self.open.get(key)
        if known is None:
            self.open[key] = _RefusedRecord(refusal, answered)
            if len(self.open) > MOST:
                self._close(self.open.popitem(last=False)[1])
            return
        if len(known.pauses) < _MOST_PAUSES:
            known.pauses.append(asked - known.last)
        known.last = answered

    def accept(self, key: Hashable, asked: float) -> None:
        """Note that what ``key`` identifies was accepted."""
        known = self.open.pop(key, None)
        if known is None:
            return
        known.settled = True
        if len(known.pauses) < _MOST_PAUSES:
            known.pauses.append(asked - known.last)
        self._close(known)

    def forget_old(self, moment: float) -> None:
        """Stop waiting for what did not come again for five minutes."""
        while self.open and moment - next(iter(self.open.values())).last > _FORGOTTEN_SECONDS:
            self._close(self.open.popitem(last=False)[1])

    def snapshot(self) -> list[RefusedAttempt]:
        """Every refusal that is remembered."""
        refused = [*tuple(self._closed.values()), *tuple(self.open.values())]
        return [replace(each.first, pauses=tuple(each.pauses), settled=each.settled) for each in refused]

    def _close(self, refused: _RefusedRecord) -> None:
        self._count += 1
        self._closed[self._count] = refused
        if len(self._closed) > MOST:
            self._closed.popitem(last=False)
