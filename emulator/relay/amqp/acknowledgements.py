"""Acknowledgements of consumers when the client was not given exactly what the broker handed out."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple


class UnknownTagError(LookupError):
    """The client settles what was not delivered to it, or was settled before."""


class Verdict(IntEnum):
    """What becomes of a delivery. Of several for one message the greatest counts, so that none gets lost."""

    ACK = 0
    DISCARD = 1
    REQUEUE = 2


class Settlement(NamedTuple):
    """What the broker is to be told, with its own tag."""

    tag: int
    multiple: bool
    verdict: Verdict


@dataclass(slots=True, eq=False)
class Window:
    """How many deliveries a client may hold unsettled, 0 for any number; the ``outer`` one counts as well."""

    limit: int = 0
    outer: Window | None = None
    taken: int = 0

    @property
    def room(self) -> bool:
        return (not self.limit or self.taken < self.limit) and (self.outer is None or self.outer.room)

    def add(self, number: int) -> None:
        self.taken += number
        if self.outer is not None:
            self.outer.add(number)


@dataclass(slots=True, eq=False)
class Handed:
    """A message the broker handed out: ``left`` deliveries of it are not settled, or not even made."""

    tag: int
    window: Window
    left: int = 1
    made: int = 0
    verdict: Verdict = Verdict.ACK


class _Undo(NamedTuple):
    tag: int
    handed: Handed
    verdict: Verdict


class Acknowledgements:
    """Of one channel. The client's tags count what it was given, the broker's what it handed out.

    A message is settled at the broker when the last of its deliveries is.
    """

    def __init__(self) -> None:
        self._last = 0
        self._given: OrderedDict[int, Handed] = OrderedDict()
        self._at_broker: OrderedDict[int, Handed] = OrderedDict()
        self._undo: list[_Undo] | None = None

    def handed_out(self, tag: int, window: Window) -> Handed:
        """The broker handed out a message that is to be settled."""
        handed = self._at_broker[tag] = Handed(tag, window)
        return handed

    def given(self, handed: Handed | None) -> int:
        """The client's tag of a delivery that is made now; None is one that needs no settling."""
        self._last += 1
        if handed is not None:
            handed.made += 1
            handed.window.add(1)
            self._given[self._last] = handed
        return self._last

    def settled(self, tag: int, *, multiple: bool, verdict: Verdict) -> list[Settlement]:
        """The client settled a delivery, or all up to it (all there are for 0). UnknownTagError."""
        if not (multiple and tag == 0) and tag not in self._given:
            raise UnknownTagError(tag)
        tags = [tag]
        if multiple:
            tags = []
            for each in self._given:
                if tag and each > tag:
                    break
                tags.append(each)
        return self._told([self._settle(each, verdict) for each in tags])

    def withdrawn(self, handed: Handed) -> list[Settlement]:
        """A delivery that was still to be made will not be; a message never given goes back to its queue."""
        if not handed.made:
            handed.verdict = Verdict.REQUEUE
        handed.left -= 1
        return self._told([handed])

    def recovered(self) -> None:
        """The broker took back everything that was not settled."""
        for handed in self._given.values():
            handed.window.add(-1)
        self._given.clear()
        self._at_broker.clear()

    def begin(self) -> None:
        """From here on what is settled can be rolled back to here."""
        self._undo = []

    def roll_back(self) -> None:
        """What was settled since ``begin`` is to be settled again."""
        for tag, handed, verdict in reversed(self._undo or ()):
            handed.left += 1
            handed.verdict = verdict
            handed.window.add(1)
            self._given[tag] = handed
            self._at_broker[handed.tag] = handed
        self._given = OrderedDict(sorted(self._given.items()))
        self._at_broker = OrderedDict(sorted(self._at_broker.items()))
        self._undo = []

    def _settle(self, tag: int, verdict: Verdict) -> Handed:
        handed = self._given.pop(tag)
        if self._undo is not None:
            self._undo.append(_Undo(tag, handed, handed.verdict))
        handed.window.add(-1)
        handed.left -= 1
        handed.verdict = max(handed.verdict, verdict)
        return handed

    def _told(self, changed: Iterable[Handed]) -> list[Settlement]:
        done = {handed.tag: handed for handed in changed if not handed.left}
        for tag in done:
            del self._at_broker[tag]
        verdicts = {handed.verdict for handed in done.values()}
        if len(done) > 1 and len(verdicts) == 1:
            last = max(done)
            if next(iter(self._at_broker), last + 1) > last:
                return [Settlement(last, True, verdicts.pop())]
        return [Settlement(tag, False, done[tag].verdict) for tag in sorted(done)]
