"""Events: what happened in the sandbox."""

from __future__ import annotations

from rdss_sandbox.api.endpoint import GET, Mode, Subject
from rdss_sandbox.api.parameters import EventLimit, Position
from rdss_sandbox.shapes.events import Event, EventPage, events_of


def _last_event(page: EventPage) -> int:
    """The id of the newest event, 0 before the first. Ids count from 1 without gaps."""
    return page.last


class Events(Subject[Mode], at="/events"):
    """Events: what happened in the sandbox, and live what happens."""

    @GET("", EventPage, events_of, live=True)
    def events(self, *, after: Position = 0, limit: EventLimit = 1000, news: bool = False) -> list[Event]:
        """Up to ``limit`` events with an id above ``after``, oldest first.

        A live answer begins with the event after ``after``, or after the id in the header ``Last-Event-ID``.
        With ``news`` it says what kinds of events there were and which streams have new records instead, at
        most every 50 ms.
        """

    last_event = events.part(_last_event, limit=0)
