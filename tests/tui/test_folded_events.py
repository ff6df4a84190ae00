"""Events that repeat have one row with their number, as long as nothing else happens."""

from __future__ import annotations

from typing import Any

from rdss_sandbox.shapes.events import Event
from tui.state.folded_events import EventFolder


class HappenedEvents:
    """A client of a sandbox in which these events happened; more may be added."""

    def __init__(self, *events: tuple[str, dict[str, Any]]) -> None:
        self.events_so_far = list(events)

    async def last_event(self) -> int:
        return len(self.events_so_far)

    async def events(self, *, after: int, limit: int) -> list[Event]:
        numbered = enumerate(self.events_so_far[after : after + limit], after + 1)
        return [Event(number, float(number), kind, fields) for number, (kind, fields) in numbered]


def strike(fault: str, message: str) -> tuple[str, dict[str, Any]]:
    return "fault.injected", {
        "fault": fault,
        "channel": "input",
        "message_id": message,
        "did": f"to {message}",
    }


ENDED = ("sandbox.stopped", {})


async def told(folder: EventFolder, client: HappenedEvents, offset: int = 0) -> list[tuple[str, int, float]]:
    page = await folder.read(client, offset, 100)  # type: ignore[arg-type]
    return [(row.last.fields.get("fault", row.last.kind), row.count, row.first) for row in page.rows]


async def test_strikes_are_folded_by_fault_until_something_else_happens() -> None:
    """Two faults that strike by turns have two rows; after another event each has a new one."""
    client = HappenedEvents(*(strike(fault, str(n)) for n in range(3) for fault in ("twice", "late")))
    client.events_so_far += [ENDED, strike("twice", "9")]
    assert await told(EventFolder(), client) == [
        ("twice", 3, 1.0),
        ("late", 3, 2.0),
        ("sandbox.stopped", 1, 7.0),
        ("twice", 1, 8.0),
    ]


async def test_a_row_grows_while_it_is_shown() -> None:
    """What comes later is added to the last row, with the message of the last strike."""
    client, folder = HappenedEvents(strike("twice", "a")), EventFolder()
    assert await told(folder, client) == [("twice", 1, 1.0)]
    client.events_so_far.append(strike("twice", "b"))
    page = await folder.read(client, 1, 100)  # type: ignore[arg-type]
    (row,) = page.rows
    assert (page.offset, page.total, row.count, row.last.fields["message_id"]) == (0, 1, 2, "b")


async def test_what_differs_is_not_folded() -> None:
    """Events of one kind that say different things have a row each."""
    client = HappenedEvents(
        ("access.denied", {"operation": "PutRecord"}),
        ("access.denied", {"operation": "PutRecord"}),
        ("access.denied", {"operation": "GetRecords"}),
        ("access.denied", {"operation": "PutRecord"}),
    )
    assert [count for _, count, _ in await told(EventFolder(), client)] == [2, 1, 1]


async def test_another_sandbox_is_read_from_its_first_event() -> None:
    """A sandbox that was started anew counts its events from 1."""
    folder = EventFolder()
    await told(folder, HappenedEvents(ENDED, strike("twice", "a"), ENDED))
    assert await told(folder, HappenedEvents(strike("late", "a"))) == [("late", 1, 1.0)]


async def test_only_the_newest_of_very_many_are_read() -> None:
    """Of 25,000 events the last 10,000 have rows, and their end is where a list that follows asks."""
    client = HappenedEvents(*(("stream.deleted", {"stream": str(number)}) for number in range(25_000)))
    folder = EventFolder()
    page = await folder.read(client, -5, 5)  # type: ignore[arg-type]
    assert (page.total, [row.last.id for row in page.rows]) == (10_000, list(range(24_996, 25_001)))
