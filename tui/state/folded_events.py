"""Events in the order in which they came, where those that repeat have one row with their number."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Final

from rdss_sandbox.client import AsyncClient
from rdss_sandbox.shapes.events import Event
from tui.state.paging import Page

_MOST_READ: Final = 10_000
"""Events that are read back at most."""
_MOST_ROWS: Final = 20_000
_PAGE: Final = 1_000
_STRIKE: Final = "fault.injected"
_OF_ONE_MESSAGE: Final = frozenset(
    {
        *("data", "did", "message", "message_id", "messages", "operation_id", "position"),
        *("claim", "sequence_number", "shard", "size", "total"),
    }
)
"""Fields in which events that repeat may differ: they are of the message, and not of what was done."""


@dataclass(frozen=True, slots=True)
class FoldedEvent:
    """``count`` events that repeat: the ``last`` of them, and when the ``first`` was, in seconds."""

    last: Event
    count: int
    first: float

    def add(self, event: Event) -> FoldedEvent:
        return FoldedEvent(event, self.count + 1, self.first)


class EventFolder:
    """Reads events on from its last look, and folds those that repeat into one row until others come.

    Faults strike the same messages by turns, so strikes have a row for each fault until something else
    happens. Of the events of before the first look, the newest 10,000 are read.
    """

    def __init__(self) -> None:
        self._rows: list[FoldedEvent] = []
        self._run: dict[Hashable, int] = {}
        self._read = 0

    async def read(self, client: AsyncClient, offset: int, limit: int) -> Page[FoldedEvent]:
        """Up to ``limit`` rows from ``offset`` on; a negative one counts from the end."""
        await self._read_on(client)
        total = len(self._rows)
        # The last row is among them always: it may have grown without another row.
        begins = max(0, min(offset, total - 1) if offset >= 0 else total + offset)
        return Page(begins, self._rows[begins : begins + limit], total)

    async def _read_on(self, client: AsyncClient) -> None:
        last = await client.last_event()
        if last < self._read or last - self._read > _MOST_READ:  # another sandbox, or too much to read
            self._rows, self._run, self._read = [], {}, max(0, last - _MOST_READ)
        while self._read < last and (page := await client.events(after=self._read, limit=_PAGE)):
            for event in page:
                self._take_in(event)
            self._read = page[-1].id

    def _take_in(self, event: Event) -> None:
        same = [(name, repr(value)) for name, value in event.fields.items() if name not in _OF_ONE_MESSAGE]
        alike = (event.kind, *same)
        if (row := self._run.get(alike)) is not None:
            self._rows[row] = self._rows[row].add(event)
            return
        if event.kind != _STRIKE or not self._rows or self._rows[-1].last.kind != _STRIKE:
            self._run = {}
        if len(self._rows) >= _MOST_ROWS:
            del self._rows[: _MOST_ROWS // 2]
            self._run = {}
        self._run[alike] = len(self._rows)
        self._rows.append(FoldedEvent(event, 1, event.time))
