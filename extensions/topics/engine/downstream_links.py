"""The links to downstream sandboxes: how much of the log each has been sent and has acknowledged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from emulator.clock import Clock
from emulator.events import Events
from extensions.topics.engine.schedule import Schedule
from rdss_sandbox.shapes.topics import Downstream

# By the rounding of floats, an alarm may come a hair early.
_EARLY_SECONDS = 0.001


class Link:
    """The link to ``downstream``; all numbers are entries of this log, and 0 if unknown.

    ``last`` is the last entry that the downstream needs. ``sent`` and ``acked`` are the last entries that it
    was sent and has acknowledged. ``why`` is the reason if it is not ``up``, or is up and refuses.
    ``downgraded`` means that it is configured as synchronous but no longer waited for. ``stirred`` is called
    when there is a new entry for it, ``released`` when acknowledgements may no longer have to wait.
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
        """The number of log entries that it has not acknowledged."""
        return max(0, self.last - self.acked)

    @property
    def synchronous(self) -> bool:
        """Whether ``persisted`` currently waits for its acknowledgement."""
        return self.downstream.mode == "sync" and not self.downgraded

    def holds(self, number: int) -> bool:
        """Whether the entry ``number`` must wait for this downstream before it is ``persisted``.

        A synchronous downstream must have acknowledged it. An asynchronous one must have been sent it, if it
        is up.
        """
        needed = min(number, self.last)
        return self.acked < needed if self.synchronous else self.up and self.sent < needed

    def point(self, downstream: Downstream) -> None:
        """Replace the downstream by another, whose position is unknown."""
        self.downstream = downstream
        self.sent = self.acked = 0
        self.up = self.downgraded = False
        self.why = "not connected yet"
        self._moved = self._clock.elapsed()
        self._watch()

    def note_logged(self, number: int) -> None:
        """Note that the log has a new entry for it."""
        if not self.behind:
            self._moved = self._clock.elapsed()
        self.last = number
        self._watch()
        self.stirred()

    def connect(self, position: int) -> None:
        """Note that it answers and has the log up to ``position``."""
        self.sent = self.acked = position
        self.up, self.why, self._catching_up = True, "", True
        self._tell("topic.link_up")
        self._settle()

    def disconnect(self, why: str) -> None:
        """Note that it does not answer."""
        if self.up or why != self.why:
            self.up, self.why = False, why
            self._tell("topic.link_down", why=why)
            # Nothing that is asynchronous waits for one that is down.
            self.released()

    def refuse(self, why: str) -> None:
        """Note that it refuses the next entry."""
        if why != self.why:
            self.why = why
            self._tell("topic.link_refused", why=why)

    def send(self, number: int) -> None:
        """Note that it was sent the log up to ``number``."""
        self.sent = max(self.sent, number)
        self.released()

    def acknowledge(self, number: int) -> None:
        """Note that it has the log up to ``number``; the number falls if the downstream has lost entries."""
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
        """Schedule the check that downgrades it after ``downgrade_after`` seconds without progress."""
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

    def _tell(self, kind: str, **fields: Any) -> None:
        self._events.emit(kind, downstream=self.name, url=self.downstream.url, behind=self.behind, **fields)


class AwaitedPlace(NamedTuple):
    """A number in the log, and the links that must reach it before the entry is ``persisted``."""

    number: int
    links: tuple[Link, ...]

    def merge(self, later: AwaitedPlace) -> AwaitedPlace:
        """Combine two places: the higher number and all links."""
        return AwaitedPlace(max(self.number, later.number), tuple(dict.fromkeys(self.links + later.links)))


NOWHERE = AwaitedPlace(0, ())
