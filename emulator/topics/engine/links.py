"""How far a downstream sandbox has come, as far as is known here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from emulator.clock import Clock
from emulator.events import Events
from emulator.topics.engine.schedule import Schedule
from rdss_sandbox.shapes.topics import Downstream

_EARLY_SECONDS = 0.001


class Link:
    """The way to ``downstream``; all numbers are of this log, and 0 where nothing is known.

    ``last`` is the last entry that it needs, ``sent`` and ``acked`` how far it was sent and has acknowledged
    the log. ``why`` says what is wrong where it is not ``up``, or up and refuses. ``downgraded``: it is
    configured to be synchronous and waited for no longer. ``stirred`` is called when there is more for it.
    """

    def __init__(
        self, downstream: Downstream, last: int, clock: Clock, events: Events, schedule: Schedule
    ) -> None:
        self.downstream = downstream
        self.name = downstream.name
        self.last = last
        self.sent = self.acked = 0
        self.up = self.downgraded = False
        self.why = "not connected yet"
        self.stirred: Callable[[], None] = lambda: None
        self.released: Callable[[], None] = lambda: None
        self._clock, self._events, self._schedule = clock, events, schedule
        self._moved = clock.elapsed()
        self._watched = False
        self._catching_up = False
        self._watch()

    @property
    def behind(self) -> int:
        """How many entries of the log it is behind."""
        return max(0, self.last - self.acked)

    @property
    def synchronous(self) -> bool:
        """Whether ``persisted`` waits for its acknowledgement now."""
        return self.downstream.mode == "sync" and not self.downgraded

    def holds(self, number: int) -> bool:
        """Whether the entry ``number`` is not ``persisted`` for want of this downstream.

        A synchronous one must have acknowledged it; an asynchronous one that is there must have been sent it.
        """
        needed = min(number, self.last)
        return self.acked < needed if self.synchronous else self.up and self.sent < needed

    def point(self, downstream: Downstream) -> None:
        """Another stands in its place, of which nothing is known."""
        self.downstream = downstream
        self.sent = self.acked = 0
        self.up = self.downgraded = False
        self.why = "not connected yet"
        self._moved = self._clock.elapsed()
        self._watch()

    def logged(self, number: int) -> None:
        """There is an entry for it."""
        if not self.behind:
            self._moved = self._clock.elapsed()
        self.last = number
        self._watch()
        self.stirred()

    def connect(self, position: int) -> None:
        """It is there, and has taken the log up to ``position``."""
        self.sent = self.acked = position
        self.up, self.why, self._catching_up = True, "", True
        self._tell("topic.link_up")
        self._settle()

    def disconnect(self, why: str) -> None:
        """It is not there."""
        if self.up or why != self.why:
            self.up, self.why = False, why
            self._tell("topic.link_down", why=why)
            self.released()

    def refuse(self, why: str) -> None:
        """It does not take what it was sent."""
        if why != self.why:
            self.why = why
            self._tell("topic.link_refused", why=why)

    def send(self, number: int) -> None:
        """It was sent the log up to ``number``."""
        self.sent = max(self.sent, number)
        self.released()

    def acknowledge(self, number: int) -> None:
        """It has the log up to ``number``; that may be less than before, if it has lost something."""
        if number > self.acked:
            self.why = ""
            self._moved = self._clock.elapsed()
        self.acked = number
        self.sent = max(self.sent, number)
        self._settle()

    def _settle(self) -> None:
        if not self.behind:
            if self._catching_up:
                self._catching_up = False
                self._tell("topic.link_caught_up")
            if self.downgraded:
                self.downgraded = False
                self._tell("topic.link_upgraded")
        self.released()

    def _watch(self) -> None:
        """See to it that it is waited for no longer than ``downgrade_after``."""
        patience = self.downstream.downgrade_after
        if patience is None or self._watched or not self.synchronous or not self.behind:
            return
        self._watched = True
        self._schedule.put(max(0.0, self._moved + patience - self._clock.elapsed()), self._look)

    def _look(self) -> None:
        self._watched = False
        patience = self.downstream.downgrade_after
        if patience is None or not self.behind or not self.synchronous:
            return
        if self._clock.elapsed() < self._moved + patience - _EARLY_SECONDS:
            self._watch()
            return
        self.downgraded = True
        self._tell("topic.link_downgraded")
        self.released()

    def _tell(self, kind: str, **said: Any) -> None:
        self._events.emit(kind, downstream=self.name, url=self.downstream.url, behind=self.behind, **said)


class Place(NamedTuple):
    """A number in the log, and who must have come that far before what is there is ``persisted``."""

    number: int
    links: tuple[Link, ...]

    def joined(self, later: Place) -> Place:
        """The place of both."""
        return Place(max(self.number, later.number), tuple(dict.fromkeys(self.links + later.links)))


NOWHERE = Place(0, ())
