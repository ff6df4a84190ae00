"""What events say to people who watch: news, strikes, findings, the last error, and how far a scenario is."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Final

from emulator.events import Events
from emulator.listeners.control.watch.sentences import abbreviate, describe
from rdss_sandbox.shapes.events import Event
from rdss_sandbox.shapes.picture import FaultStrike, NewsLine, ShownFinding

_MOST_READ: Final = 10_000
"""Events that are read back at most: as many as are held in memory."""
_PAGE: Final = 1_000
_MOST_NEWS: Final = 12
_MOST_FINDINGS: Final = 20
_MOST_STRIKES: Final = 50


class EventDigest:
    """Reads events on from its last look, so that events cost nothing while nobody watches.

    ``delivered`` has the sequence number of the last record that a scenario's receiver was given, by channel
    and shard. ``meanings`` are those of error codes.
    """

    def __init__(self, events: Events, meanings: Mapping[str, str]) -> None:
        self._events = events
        self._meanings = meanings
        self._read = 0
        self._clear()

    def read_on(self) -> None:
        """Take in what happened since the last look."""
        self._read = max(self._read, self._events.last - _MOST_READ)
        while page := self._events.since(self._read, _PAGE):
            for event in page:
                self._take_in(event)
            self._read = page[-1].id

    def _clear(self) -> None:
        self.news: deque[NewsLine] = deque(maxlen=_MOST_NEWS)
        self.findings: deque[ShownFinding] = deque(maxlen=_MOST_FINDINGS)
        self.strikes: dict[tuple[str, str], FaultStrike] = {}
        self.error: NewsLine | None = None
        self.delivered: dict[tuple[str, str], str] = {}
        self._struck: dict[str, tuple[NewsLine, int]] = {}
        self._moved: dict[str, NewsLine] = {}

    def _take_in(self, event: Event) -> None:
        if event.kind == "message.delivered":
            where = str(event.fields.get("channel")), str(event.fields.get("shard"))
            self.delivered[where] = str(event.fields.get("sequence_number"))
            return
        if event.kind == "fault.injected":
            self._take_in_strike(event)
            return
        if event.kind == "sandbox.reset":
            self._clear()
        if event.kind == "client.finding":
            self._take_in_finding(event)
        sentence = describe(event, self._meanings)
        if sentence is None:
            return
        line = NewsLine(event.id, event.time, sentence.tone, sentence.said)
        if event.kind == "replay.moved":
            self._move_on(str(event.fields.get("tape")), line)
        self.news.append(line)
        self._struck.clear()
        if sentence.tone == "bad" and event.kind != "client.finding":
            self.error = line

    def _move_on(self, tape: str, line: NewsLine) -> None:
        """Keep one line of a replay, with its last position."""
        before = self._moved.get(tape)
        if before is not None and before in self.news:
            self.news.remove(before)
        self._moved[tape] = line

    def _take_in_strike(self, event: Event) -> None:
        """Keep the strikes of a fault as one line of the news with their number, until other news come."""
        fields = event.fields
        fault, channel, did = (str(fields.get(name)) for name in ("fault", "channel", "did"))
        self.strikes.pop((fault, channel), None)
        self.strikes[fault, channel] = FaultStrike(event.id, fault, channel, abbreviate(did))
        while len(self.strikes) > _MOST_STRIKES:
            del self.strikes[next(iter(self.strikes))]
        before, count = self._struck.get(fault, (None, 0))
        if before is not None and before in self.news:
            self.news.remove(before)
        times = f" {count + 1} times" if count else ""
        line = NewsLine(event.id, event.time, "bad", abbreviate(f"the fault {fault} struck{times}: {did}"))
        self._struck[fault] = line, count + 1
        self.news.append(line)

    def _take_in_finding(self, event: Event) -> None:
        texts = {
            name: str(event.fields.get(name) or "") for name in ("rule", "harm", "stream", "said", "advice")
        }
        client, shard = event.fields.get("client"), event.fields.get("shard")
        self.findings.append(ShownFinding(id=event.id, client=client, shard=shard, **texts))
